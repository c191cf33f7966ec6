import Logging
import MVI
import MVITesting
import Testing

@testable import DemoFeatures

@Suite struct LessonDetailTests {
    private func makeStore(
        _ lessons: StubLessons, state: LessonDetail.State? = nil, log: LogRecorder = LogRecorder(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> TestStore<LessonDetail> {
        TestStore(
            LessonDetail(id: "8", lessons: lessons, logger: log.logger), key: "8", state: state,
            sourceLocation: sourceLocation)
    }

    private var cancelled: Lesson {
        var lesson = Lesson.sample
        lesson.isEnrolled = false
        lesson.freePlaces = 2
        return lesson
    }

    @Test func `every intent and label has an example`() { checkExamples(of: LessonDetail.self) }

    @Test func `appearing loads the lesson that the key names`() async {
        let store = makeStore(StubLessons(onLesson: { $0 == "8" ? .sample : nil }))
        await store.send(.onAppear)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.receive(.loaded(.sample)) {
            $0.lesson = .sample
            $0.isLoading = false
        }
        #expect(
            store.view
                == LessonDetail.ViewState(
                    status: .content,
                    lesson: LessonDetail.ViewState.Content(
                        title: "Serve and volley", subtitle: "Intermediate · with Bram de Wit",
                        date: "Thu 26 November", time: "09:30 – 10:30", price: "€31.50", venue: "Canal Court",
                        address: "Westerkade 19, Amsterdam", places: "1 place left", isEnrolled: true)))
        await store.finish()
    }

    @Test(arguments: [StubLessons(), StubLessons(onLesson: { _ in nil })])
    func `a lesson that cannot be loaded leaves the screen`(lessons: StubLessons) async {
        let store = makeStore(lessons)
        await store.send(.onAppear)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.receive(.loadFailed) {
            $0.isLoading = false
            $0.hasFailed = true
        }
        #expect(store.view == LessonDetail.ViewState(status: .error, error: "The lesson could not be loaded."))
        await store.expect(.dismiss(reason: "The lesson could not be loaded"))
        await store.finish()
    }

    @Test func `appearing again after a failure tries again`() async {
        let answers = Sequenced<Lesson?>(.failure(StubFailure()), .success(.sample))
        let store = makeStore(StubLessons(onLesson: { _ in try answers.next() }))
        store.exhaustive(false)
        await store.send(.onAppear)
        await store.expect(.dismiss(reason: "The lesson could not be loaded"))
        await store.send(.onAppear)
        await store.receive(.loaded(.sample))
        #expect(store.view.status == .content)
        #expect(store.view.error == nil)
        await store.finish()
    }

    @Test func `canceling gives the place back, booking takes it again`() async {
        let store = makeStore(
            StubLessons(onSetEnrolled: { _, _ in }), state: LessonDetail.State(lesson: .sample))
        await store.send(.tapConfirmCancelEnrollment)
        await store.receive(.changeStarted(.cancelling)) { $0.change = .cancelling }
        await store.receive(.enrollmentChanged(isEnrolled: false)) {
            $0.lesson?.isEnrolled = false
            $0.lesson?.freePlaces = 2
            $0.change = nil
        }
        await store.expect(.toast(text: "Your place is canceled"))
        await store.send(.tapEnrollAgain)
        await store.receive(.changeStarted(.enrolling)) { $0.change = .enrolling }
        await store.receive(.enrollmentChanged(isEnrolled: true)) {
            $0.lesson?.isEnrolled = true
            $0.lesson?.freePlaces = 1
            $0.change = nil
        }
        await store.expect(.toast(text: "Your place is booked"))
        await store.finish()
    }

    @Test func `a change that fails leaves the booking as it was`() async {
        let store = makeStore(StubLessons(), state: LessonDetail.State(lesson: .sample))
        await store.send(.tapConfirmCancelEnrollment)
        await store.receive(.changeStarted(.cancelling)) { $0.change = .cancelling }
        await store.receive(.changeEnded) { $0.change = nil }
        await store.expect(.toast(text: "That did not work. Your booking is as it was."))
        await store.finish()
    }

    @Test func `one change at a time`() async {
        let gate = Gate()
        let store = makeStore(
            StubLessons(onSetEnrolled: { _, _ in try await gate.wait() }),
            state: LessonDetail.State(lesson: .sample))
        await store.send(.tapConfirmCancelEnrollment)
        await store.receive(.changeStarted(.cancelling)) { $0.change = .cancelling }
        #expect(store.view.progress == "Canceling your place…")
        for intent in [LessonDetail.Intent.tapConfirmCancelEnrollment, .tapEnrollAgain, .resendConfirmation] {
            await store.send(intent)
            await store.expect(.toast(text: "One moment, something else is still in progress"))
        }
        // Loading now could restore the state before the change.
        await store.send(.onAppear)
        gate.open()
        await store.receive(.enrollmentChanged(isEnrolled: false)) {
            $0.lesson = cancelled
            $0.change = nil
        }
        await store.expect(.toast(text: "Your place is canceled"))
        await store.finish()
    }

    @Test func `the confirmation goes to the address on file`() async {
        let store = makeStore(
            StubLessons(onResend: { _ in "ada@example.org" }), state: LessonDetail.State(lesson: .sample))
        await store.send(.resendConfirmation)
        await store.receive(.changeStarted(.sending)) { $0.change = .sending }
        await store.receive(.changeEnded) { $0.change = nil }
        await store.expect(.toast(text: "Confirmation sent to ada@example.org"))
        await store.finish()
    }

    @Test func `a confirmation that cannot be sent shows a toast`() async {
        let store = makeStore(StubLessons(), state: LessonDetail.State(lesson: .sample))
        await store.send(.resendConfirmation)
        await store.receive(.changeStarted(.sending)) { $0.change = .sending }
        await store.receive(.changeEnded) { $0.change = nil }
        await store.expect(.toast(text: "The confirmation could not be sent. Try again."))
        await store.finish()
    }

    @Test func `an intent that does not fit the booking shows a toast and changes nothing`() async {
        let store = makeStore(StubLessons(), state: LessonDetail.State(lesson: cancelled))
        await store.send(.tapConfirmCancelEnrollment)
        await store.expect(.toast(text: "Your place is canceled already"))
        await store.send(.resendConfirmation)
        await store.expect(.toast(text: "There is no booking to confirm"))
        await store.finish()

        let booked = makeStore(StubLessons(), state: LessonDetail.State(lesson: .sample))
        await booked.send(.tapEnrollAgain)
        await booked.expect(.toast(text: "You have a place already"))
        await booked.finish()
    }

    @Test func `maps and calendar are navigations`() async {
        let store = makeStore(StubLessons(), state: LessonDetail.State(lesson: .sample))
        await store.send(.tapOpenMaps)
        await store.expect(.openMaps(name: "Canal Court", latitude: 52.3712, longitude: 4.8764))
        await store.send(.tapAddToCalendar)
        await store.expect(
            .addToCalendar(
                title: "Serve and volley", location: "Canal Court, Westerkade 19, Amsterdam",
                startsAt: "2026-11-26T09:30:00", endsAt: "2026-11-26T10:30:00"))
        await store.finish()
    }

    @Test(arguments: LessonDetail.examples.filter { $0 != .onAppear })
    func `an intent before the lesson is loaded shows a toast`(intent: LessonDetail.Intent) async {
        let store = makeStore(StubLessons())
        await store.send(intent)
        await store.expect(.toast(text: "The lesson is not loaded yet"))
        await store.finish()
    }

    @Test(arguments: [
        LessonDetail.State(isLoading: true), LessonDetail.State(lesson: .sample, change: .cancelling),
    ])
    func `a store saved during a change loads its outcome`(state: LessonDetail.State) async {
        let found = cancelled
        let store = makeStore(StubLessons(onLesson: { _ in found }), state: state)
        await store.receive(.changeEnded, state.change == nil ? nil : { $0.change = nil })
        await store.receive(.loadStarted, state.isLoading ? nil : { $0.isLoading = true })
        await store.receive(.loaded(found)) {
            $0.lesson = found
            $0.isLoading = false
        }
        await store.finish()
    }

    @Test func `analytics and navigation are in the log, with feature and intent`() async {
        let log = LogRecorder()
        let store = makeStore(StubLessons(onLesson: { _ in .sample }), log: log)
        store.exhaustive(false)
        await store.send(.onAppear)
        let outcome = await store.send(.tapOpenMaps)
        let intent = outcome.map { "\($0.id)" } ?? ""
        #expect(log.entries.contains("analytics event=lesson_viewed feature=lesson-detail:8"))
        #expect(log.entries.contains("analytics event=maps_tapped feature=lesson-detail:8"))
        #expect(log.entries.contains("navigation feature=lesson-detail:8 to=maps"))
        #expect(log.intents.contains(intent))
        await store.finish()
    }

    @Test func `a dismissal is logged as a failure and as a way back`() async {
        let log = LogRecorder()
        let store = makeStore(StubLessons(), log: log)
        store.exhaustive(false)
        await store.send(.onAppear)
        await store.expect(.dismiss(reason: "The lesson could not be loaded"))
        #expect(log.entries.contains("analytics event=lesson_load_failed feature=lesson-detail:8"))
        #expect(log.entries.contains("navigation feature=lesson-detail:8 to=back"))
        await store.finish()
    }
}
