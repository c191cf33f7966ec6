import MVI

/// Something that is loaded, perhaps again, perhaps in vain. What was loaded last stays.
struct Loadable<Content: Codable & Equatable & Sendable>: Part {
    /// An event of loading.
    enum Message: Codable, Equatable, Sendable {
        case started
        case loaded(Content)
        case failed
    }

    var content: Content?
    var isLoading = false
    var hasFailed = false

    /// True if the content is loading or was never requested.
    var isOwed: Bool { isLoading || (content == nil && !hasFailed) }

    mutating func reduce(_ message: Message) {
        isLoading = message == .started
        hasFailed = message == .failed
        if case .loaded(let content) = message { self.content = content }
    }

    /// Returns the display state: `error` if loading failed, else the content mapped by `prepare`.
    func view<Prepared>(error: String, _ prepare: (Content) -> Prepared) -> SectionView<Prepared> {
        SectionView(
            status: LoadStatus(isLoading: isLoading, hasFailed: hasFailed, isEmpty: content == nil),
            error: hasFailed ? error : nil, content: content.map(prepare))
    }
}

extension PartTurn {
    /// Loads the content; unless `always`, not if it was loaded or has failed.
    mutating func load<Content>(
        always: Bool, _ content: @escaping @Sendable () async throws -> Content
    ) where P == Loadable<Content> {
        guard always || state.isOwed else { return }
        dispatch(.started)
        launch(id: "load", policy: .cancelPrevious) { work in
            do {
                await work.dispatch(.loaded(try await content()))
            } catch {
                await work.dispatch(.failed)
            }
        }
    }
}

/// A section as a view sees it. The content loaded last stays while it is loaded again and when that fails.
struct SectionView<Content: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    var status: LoadStatus
    var error: String?
    var content: Content?
}
