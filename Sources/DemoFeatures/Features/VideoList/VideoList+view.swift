extension VideoList {
    /// The content of the screen, ready to display.
    struct ViewState: Codable, Equatable, Sendable {
        struct Row: Codable, Equatable, Sendable {
            var id: Int
            var title: String
            /// "Marta Kowalczyk · Server-Side Days 2025"
            var subtitle: String
            /// "39 min"
            var duration: String
        }

        var status: LoadStatus
        /// "14 videos, 10 h 12 min"
        var summary: String?
        /// "48,312 views"
        var views: String?
        var error: String?
        var videos: [Row]
    }

    func view(_ state: State) -> ViewState {
        let seconds = state.videos.reduce(0) { $0 + $1.seconds }
        return ViewState(
            status: LoadStatus(
                isLoading: state.isLoading, hasFailed: state.hasFailed, isEmpty: state.videos.isEmpty),
            summary: state.videos.isEmpty
                ? nil
                : "\(state.videos.count) \(state.videos.count == 1 ? "video" : "videos"), "
                    + durationText(seconds: seconds),
            views: state.views.map { "\(grouped($0)) views" },
            error: state.hasFailed ? "The videos could not be loaded." : nil,
            videos: state.videos.map {
                ViewState.Row(
                    id: $0.id, title: $0.title, subtitle: "\($0.speaker) · \($0.conference)",
                    duration: durationText(seconds: $0.seconds))
            })
    }
}
