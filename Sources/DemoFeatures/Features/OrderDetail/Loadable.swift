/// Something that is loaded, perhaps again, perhaps in vain. What was loaded last stays.
struct Loadable<Content: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    /// What can happen to it.
    enum Event: Codable, Equatable, Sendable {
        case started
        case loaded(Content)
        case failed
    }

    var content: Content?
    var isLoading = false
    var hasFailed = false

    /// Whether it is still to come: on its way, or never asked for.
    var isOwed: Bool { isLoading || (content == nil && !hasFailed) }

    mutating func reduce(_ event: Event) {
        switch event {
        case .started:
            isLoading = true
            hasFailed = false
        case .loaded(let content):
            self.content = content
            isLoading = false
            hasFailed = false
        case .failed:
            isLoading = false
            hasFailed = true
        }
    }

    /// What a view sees of it: `error` where loading failed, and the content prepared by `prepare`.
    func view<Prepared>(error: String, _ prepare: (Content) -> Prepared) -> SectionView<Prepared> {
        SectionView(
            status: LoadStatus(isLoading: isLoading, hasFailed: hasFailed, isEmpty: content == nil),
            error: hasFailed ? error : nil, content: content.map(prepare))
    }
}

/// A section as a view sees it. The content loaded last stays while it is loaded again and when that fails.
struct SectionView<Content: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    var status: LoadStatus
    var error: String?
    var content: Content?
}
