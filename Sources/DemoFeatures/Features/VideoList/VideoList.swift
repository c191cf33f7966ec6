import MVI

/// A list of conference videos, and a number that arrives later. The view contains texts that are ready to display.
struct VideoList: Feature {
    struct State: Codable, Equatable, Sendable {
        var videos: [Video] = []
        var isLoading = false
        var hasFailed = false
        /// The views of all videos together; nil until known.
        var views: Int?
    }

    enum Intent: Codable, Equatable, Sendable {
        case onAppear
        case retry
        case tapVideo(id: Int)
    }

    enum Message: Codable, Equatable, Sendable {
        case loadStarted
        case videosLoaded([Video])
        case loadFailed
        case viewsCounted(Int)
    }

    enum Label: Codable, Equatable, Sendable {
        case openVideo(title: String, url: String)
        case toast(text: String)
    }

    static let summary = "Conference videos, with a number of views that arrives on its own."
    static let examples: [Intent] = [.onAppear, .retry, .tapVideo(id: 3)]
    static let labelExamples: [Label] = [
        .openVideo(title: "Graceful shutdown is a feature", url: "https://videos.example.org/graceful-shutdown"),
        .toast(text: "This video is gone"),
    ]

    let initialState = State()
    let videos: any VideoRepository

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The work from before the restart is gone, but the state still says that it runs.
        if turn.state.isLoading { load(&turn) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .onAppear:
            // Returning to the screen keeps the list and loads the number again.
            if turn.state.videos.isEmpty { load(&turn) }
            countViews(&turn)
        case .retry:
            load(&turn)
            countViews(&turn)
        case .tapVideo(let id): open(id, &turn)
        }
    }

    private func load(_ turn: inout Turn<Self>) {
        turn.dispatch(.loadStarted)
        turn.launch(id: "load", policy: .cancelPrevious) { [videos] work in
            do {
                await work.dispatch(.videosLoaded(try await videos.all()))
            } catch {
                await work.dispatch(.loadFailed)
            }
        }
    }

    private func countViews(_ turn: inout Turn<Self>) {
        turn.launch(id: "views", policy: .cancelPrevious) { [videos] work in
            // The number is optional: if it cannot be loaded, the view shows none and no error.
            guard let views = try? await videos.views() else { return }
            await work.dispatch(.viewsCounted(views))
        }
    }

    private func open(_ id: Int, _ turn: inout Turn<Self>) {
        guard let video = turn.state.videos.first(where: { $0.id == id }) else {
            turn.publish(.toast(text: "This video is not in the list"))
            return
        }
        turn.publish(.openVideo(title: video.title, url: "https://videos.example.org/\(video.slug)"))
        // Taps that come faster than views are recorded count as one.
        turn.launch(id: "record \(id)", policy: .keepPrevious) { [videos] work in
            guard let views = try? await videos.recordView(of: id) else { return }
            await work.dispatch(.viewsCounted(views))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .loadStarted:
            state.isLoading = true
            state.hasFailed = false
        case .videosLoaded(let videos):
            state.videos = videos
            state.isLoading = false
        case .loadFailed:
            state.isLoading = false
            state.hasFailed = true
        case .viewsCounted(let views): state.views = views
        }
    }
}
