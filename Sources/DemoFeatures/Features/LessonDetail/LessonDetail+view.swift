extension LessonDetail {
    /// The content of the screen, ready to display.
    struct ViewState: Codable, Equatable, Sendable {
        struct Content: Codable, Equatable, Sendable {
            var title: String
            /// "Intermediate · with Bram de Wit"
            var subtitle: String
            /// "Thu 26 November"
            var date: String
            /// "09:30 – 10:30"
            var time: String
            /// "€31.50"
            var price: String
            var venue: String
            var address: String
            /// "1 place left"
            var places: String
            var isEnrolled: Bool
        }

        var status: LoadStatus
        var lesson: Content?
        /// The running change: "Canceling your place…"
        var progress: String?
        var error: String?
    }

    func view(_ state: State) -> ViewState {
        ViewState(
            status: LoadStatus(
                isLoading: state.isLoading, hasFailed: state.hasFailed, isEmpty: state.lesson == nil),
            lesson: state.lesson.map(content), progress: state.change.map(progress),
            error: state.hasFailed ? "The lesson could not be loaded." : nil)
    }

    private func content(_ lesson: Lesson) -> ViewState.Content {
        let end = lesson.startsAt.adding(minutes: lesson.minutes)
        let places =
            switch lesson.freePlaces {
            case ..<1: "No place left"
            case 1: "1 place left"
            default: "\(lesson.freePlaces) places left"
            }
        return ViewState.Content(
            title: lesson.title, subtitle: "\(lesson.level) · with \(lesson.coach)", date: lesson.startsAt.dateText,
            time: "\(lesson.startsAt.timeText) – \(end.timeText)", price: lesson.price.text,
            venue: lesson.venue.name, address: lesson.venue.address, places: places, isEnrolled: lesson.isEnrolled)
    }

    private func progress(_ change: State.Change) -> String {
        switch change {
        case .cancelling: "Canceling your place…"
        case .enrolling: "Booking your place…"
        case .sending: "Sending the confirmation…"
        }
    }
}
