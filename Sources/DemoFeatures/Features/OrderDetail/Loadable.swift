import MVI

/// Content that is loaded, possibly repeatedly. The content loaded last stays when a load fails.
struct Loadable<Content: Codable & Equatable & Sendable>: Part {
    enum Message: Codable, Equatable, Sendable {
        case started
        case loaded(Content)
        case failed
    }

    var content: Content?
    var isLoading = false
    var hasFailed = false

    /// True if the content is still to come: it is loading, or was never requested.
    var isOwed: Bool { isLoading || (content == nil && !hasFailed) }

    mutating func reduce(_ message: Message) {
        isLoading = message == .started
        hasFailed = message == .failed
        if case .loaded(let content) = message { self.content = content }
    }

    /// Returns the section for a view: `error` if loading failed, and the content converted by `prepare`.
    func view<Prepared>(error: String, _ prepare: (Content) -> Prepared) -> SectionView<Prepared> {
        SectionView(
            status: LoadStatus(isLoading: isLoading, hasFailed: hasFailed, isEmpty: content == nil),
            error: hasFailed ? error : nil, content: content.map(prepare))
    }
}

extension PartTurn {
    /// Loads the content. Unless `always`, does nothing if it was loaded or has failed.
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

/// A section in a view. The content loaded last stays during the next load and when that fails.
struct SectionView<Content: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    var status: LoadStatus
    var error: String?
    var content: Content?
}
