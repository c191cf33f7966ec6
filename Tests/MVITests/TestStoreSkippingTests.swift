import MVI
import MVITesting
import Testing

@Suite("What a test skips", .timeLimit(.minutes(10)))
struct TestStoreSkippingTests {
    // MARK: In the middle of an exhaustive test

    @Test func `53: a test drops what came so far, and is exhaustive from there on`() async {
        let texts = await failures {
            let store = TestStore(Till(), others: [OtherStore(Trolley())])
            await store.send(.ring)
            await store.send(.load)
            await store.send(.send(.put(items: 1)))
            await store.skipUnasserted()
            await store.send(.ring) { $0.rings += 3 }
            await store.send(.ring)
            await store.receive(.rang(times: 1)) { $0.rings = 0 }
            await store.finish()
        }
        #expect(texts.count == 2)
        #expect(texts.first?.hasPrefix("The state after .rang(times: 1) is not the expected one") == true)
        #expect(texts.last == "1 message was not received by the test:\n  .rang(times: 2)")
    }

    @Test func `53: labels are dropped, failures are not; a test that has nothing to drop fails, unless it may`() async
    {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.add(amount: 10)) { $0.count = 10 }
            await store.skipUnasserted()
            await store.skipUnasserted(strict: false)
            await store.skipUnasserted()
            await store.finish()
            let failing = TestStore(Till())
            await failing.send(.fail)
            await failing.advance(by: .seconds(1))
            await failing.skipUnasserted(strict: false)
            await failing.finish()
        }
        #expect(
            texts.prefix(1) == [
                "There is nothing to skip: all events are asserted. No work runs."
            ])
        #expect(texts.count == 2 && texts.last?.hasPrefix("1 failure was not expected by the test:") == true)
    }

    @Test func `53: a test cancels work that still runs, and is exhaustive from there on`() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.tick)
            await store.cancelWork()
            await store.advance(by: .seconds(10))
            await store.cancelWork(strict: false)
            await store.cancelWork()
            await store.send(.tick)
            await store.advance(by: .seconds(1))
            await store.receive(.changed(by: 1)) { $0.count = 1 }
            await store.cancelWork()
            await store.finish()
        }
        #expect(texts == ["There is no work to cancel."])
    }

    // MARK: Shown

    /// The warnings of a test, each with how many lines below `line` it is.
    private func warnings(since line: Int, of body: () async -> Void) async -> [String] {
        let texts = Collected<String>()
        await withKnownIssue(isIntermittent: true) {
            await body()
        } matching: { issue in
            let place = (issue.sourceLocation?.line ?? 0) - line
            texts.append("\(place) \(issue.severity): " + issue.comments.map(\.rawValue).joined(separator: "\n"))
            return true
        }
        return texts.all
    }

    @Test func `53: a relaxed test shows the messages and labels that it skips, where it skips them`() async {
        let begin = #line
        let warnings = await warnings(since: begin) {
            let store = TestStore(Counter())
            store.exhaustive(false, showsSkipped: true)
            await store.send(.add(amount: 10))
            await store.send(.add(amount: 0))
            await store.send(.add(amount: 20))
            await store.receive(.changed(by: 20)) { $0.count = 30 }
            await store.expect(.milestone(count: 30))
            await store.send(.add(amount: 1))
            await store.send(.tick)
            await store.finish()
        }
        #expect(
            warnings == [
                "7 warning: Skipped: 2 messages were not received by the test:\n  .changed(by: 10)\n  .changed(by: 0)",
                """
                7 warning: Skipped: the change of state by these messages (- before, + after):
                  - State(count: 0, isLoading: false)
                  + State(count: 10, isLoading: false)
                """,
                """
                8 warning: Skipped: 2 labels were not expected by the test:
                  .milestone(count: 10)
                  .milestone(count: 10)
                """,
                "11 warning: Skipped: 1 message was not received by the test:\n  .changed(by: 1)",
                """
                11 warning: Skipped: the change of state by these messages (- before, + after):
                  - State(count: 30, isLoading: false)
                  + State(count: 31, isLoading: false)
                """,
                "11 warning: Skipped: Work still runs at the end of the test: tick. Let it end or cancel it. "
                    + "Use `advance(by:)` for work that waits for time.",
            ])
    }

    @Test func `53: a relaxed test shows the changes of state that it does not describe, or in part only`() async {
        let begin = #line
        let warnings = await warnings(since: begin) {
            let store = TestStore(Counter())
            store.exhaustive(false, showsSkipped: true)
            await store.send(.increment)
            await store.receive(.changed(by: 1))
            await store.send(.load) { $0.isLoading = true }
            await store.receive(.loaded(42)) {
                #expect($0.count == 42)
                $0.isLoading = false
            }
            await store.finish()
        }
        #expect(
            warnings == [
                """
                5 warning: Skipped: .changed(by: 1) changed more of the state than described (- described, + actual):
                  - State(count: 0, isLoading: false)
                  + State(count: 1, isLoading: false)
                """,
                """
                7 warning: Skipped: .loaded(42) changed more of the state than described (- described, + actual):
                  - State(count: 1, isLoading: false)
                  + State(count: 42, isLoading: false)
                """,
            ])
    }

    @Test func `53: a relaxed test that does not ask for it shows nothing, and an exhaustive one what it drops`() async
    {
        let begin = #line
        let warnings = await warnings(since: begin) {
            let store = TestStore(Counter(), exhaustive: false)
            await store.send(.load)
            await store.receive(.loaded(42))
            store.exhaustive(true, showsSkipped: true)
            await store.send(.increment)
            await store.send(.tick)
            await store.skipUnasserted()
            await store.cancelWork()
            await store.finish()
        }
        #expect(
            warnings == [
                "8 warning: Skipped: 1 message was not received by the test:\n  .changed(by: 1)",
                """
                8 warning: Skipped: the change of state by these messages (- before, + after):
                  - State(count: 42, isLoading: false)
                  + State(count: 43, isLoading: false)
                """,
                "9 warning: Work was canceled: tick.",
            ])
    }
}
