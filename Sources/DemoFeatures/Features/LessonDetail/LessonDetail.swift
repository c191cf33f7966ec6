import Logging
import MVI

/// One lesson and a student's place in it.
///
/// `execute` calls services and turns their answers into results (the messages); `reduce` is pure. Separate observers
/// log analytics and navigation.
struct LessonDetail: Feature {
    struct State: Codable, Equatable, Sendable {
        enum Change: String, Codable, Sendable { case cancelling, enrolling, sending }

        var lesson: Lesson?
        var isLoading = false
        var hasFailed = false
        /// The running change.
        var change: Change?
    }

    enum Intent: Codable, Equatable, Sendable {
        case onAppear
        case tapConfirmCancelEnrollment
        case tapEnrollAgain
        case resendConfirmation
        case tapOpenMaps
        case tapAddToCalendar
    }

    /// The results that `reduce` applies.
    enum Message: Codable, Equatable, Sendable {
        case loadStarted
        case loaded(Lesson)
        case loadFailed
        case changeStarted(State.Change)
        case enrollmentChanged(isEnrolled: Bool)
        case changeEnded
    }

    enum Label: Codable, Equatable, Sendable {
        /// Leave the screen; the next screen shows the reason.
        case dismiss(reason: String)
        case openMaps(name: String, latitude: Double, longitude: Double)
        case addToCalendar(title: String, location: String, startsAt: String, endsAt: String)
        case toast(text: String)
    }

    static let summary = "A lesson: where and when, and the place booked in it."
    static let examples: [Intent] = [
        .onAppear, .tapConfirmCancelEnrollment, .tapEnrollAgain, .resendConfirmation, .tapOpenMaps, .tapAddToCalendar,
    ]
    static let labelExamples: [Label] = [
        .dismiss(reason: "The lesson could not be loaded"),
        .openMaps(name: "Canal Court", latitude: 52.3712, longitude: 4.8764),
        .addToCalendar(
            title: "Serve and volley", location: "Canal Court, Westerkade 19, Amsterdam",
            startsAt: "2026-11-26T09:30:00", endsAt: "2026-11-26T10:30:00"),
        .toast(text: "Your place is canceled"),
    ]

    let initialState = State()
    let id: String
    let lessons: any LessonRepository
    let logger: Logger

    var middleware: Middleware<Self> {
        LessonAnalytics.middleware(logger).combined(with: LessonNavigationLog.middleware(logger))
    }

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The work from before the restart is gone, but the state still says that it runs. Loading again shows whether
        // the change succeeded.
        if turn.state.isLoading || turn.state.change != nil {
            turn.dispatch(.changeEnded)
            load(&turn)
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        // A load during a change could show the state before it; the change itself brings its result.
        case .onAppear: if turn.state.change == nil { load(&turn) }
        case .tapConfirmCancelEnrollment: setEnrolled(false, &turn)
        case .tapEnrollAgain: setEnrolled(true, &turn)
        case .resendConfirmation: resendConfirmation(&turn)
        case .tapOpenMaps:
            guard let venue = loadedLesson(&turn)?.venue else { return }
            turn.publish(.openMaps(name: venue.name, latitude: venue.latitude, longitude: venue.longitude))
        case .tapAddToCalendar:
            guard let lesson = loadedLesson(&turn) else { return }
            turn.publish(
                .addToCalendar(
                    title: lesson.title, location: "\(lesson.venue.name), \(lesson.venue.address)",
                    startsAt: lesson.startsAt.isoText,
                    endsAt: lesson.startsAt.adding(minutes: lesson.minutes).isoText))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .loadStarted:
            state.isLoading = true
            state.hasFailed = false
        case .loaded(let lesson):
            state.lesson = lesson
            state.isLoading = false
        case .loadFailed:
            state.isLoading = false
            state.hasFailed = true
        case .changeStarted(let change): state.change = change
        case .enrollmentChanged(let isEnrolled):
            if let lesson = state.lesson, lesson.isEnrolled != isEnrolled {
                state.lesson?.isEnrolled = isEnrolled
                state.lesson?.freePlaces += isEnrolled ? -1 : 1
            }
            state.change = nil
        case .changeEnded: state.change = nil
        }
    }
}
