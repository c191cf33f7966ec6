import MVI
import MVITesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TestStoreTests {
    @Test("53: a test that says all that happens passes")
    func everythingAsserted() async {
        let store = TestStore(Counter())
        await store.send(.increment)
        await store.receive(.changed(by: 1)) { $0.count = 1 }
        await store.send(.add(amount: 9))
        await store.receive(.changed(by: 9)) { $0.count = 10 }
        await store.expect(.milestone(count: 10))
        await store.send(.load)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.expect(.milestone(count: 10))
        await store.receive(.loaded(42)) {
            $0.isLoading = false
            $0.count = 42
        }
        await store.finish()
    }

    @Test("53, 56: a test says who sends an intent")
    func principal() async {
        let store = TestStore(Visitors())
        let ann = Principal(subject: "ann", claims: ["tier": "premium"])
        await store.send(.enter, as: ann)
        await store.receive(.entered("ann")) { $0.names = ["ann"] }
        let refusal = await store.sendRejected(.enter)
        #expect(refusal?.code == .forbidden)
        await store.finish()
    }

    @Test("53, 56: a turn knows the instance: the feature's name, with the key that the test gives")
    func instance() async {
        let store = TestStore(Named())
        await store.send(.ask)
        await store.receive(.called("named")) { $0.name = "named" }
        await store.finish()
        let keyed = TestStore(Named(), key: "7")
        await keyed.send(.ask)
        await keyed.receive(.called("named:7")) { $0.name = "named:7" }
        await keyed.finish()
    }

    @Test("53: time moves when the test says so")
    func time() async {
        let store = TestStore(Counter())
        await store.send(.tick)
        await store.advance(by: .milliseconds(999))
        await store.advance(by: .milliseconds(1))
        await store.receive(.changed(by: 1)) { $0.count = 1 }
        await store.advance(by: .seconds(2))
        await store.receive(.changed(by: 1)) { $0.count = 2 }
        await store.receive(.changed(by: 1)) { $0.count = 3 }
        await store.send(.stop)
        await store.finish()
    }

    @Test("53: what work does elsewhere is waited for")
    func waits() async {
        let gate = Gate()
        let store = TestStore(
            Counter(number: {
                try await Task.detached { try await gate.wait() }.value
                return 7
            }))
        await store.send(.load)
        await store.receive(.loadStarted) { $0.isLoading = true }
        Task.detached {
            await gate.waiters()
            gate.open()
        }
        await store.receive(.loaded(7)) { $0 = Counter.State(count: 7) }
        await store.finish()
    }

    @Test("53: a message that nobody received fails the test with its text")
    func unreceivedMessage() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.add(amount: 3))
            await store.finish()
        }
        #expect(texts == ["1 message was not received by the test:\n  .changed(by: 3)"])
    }

    @Test("53: labels and failures that nobody expected fail the test")
    func unexpectedLabel() async {
        let texts = await failures {
            let store = TestStore(Throwing())
            await store.send(.inWork)
            await store.finish()
        }
        #expect(texts.count == 2)
        #expect(texts.first == "2 labels were not expected by the test:\n  .said(\"a\")\n  .said(\"b\")")
        #expect(texts.last?.hasPrefix("1 failure was not expected by the test:\n  Failure(") == true)
    }

    @Test("53: a change of state that the test does not describe fails it with the difference")
    func undescribedChange() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.increment)
            await store.receive(.changed(by: 1))
            await store.finish()
        }
        #expect(
            texts == [
                """
                .changed(by: 1) changed the state, and the test does not describe the change (- expected, + actual):
                  - State(count: 0, isLoading: false)
                  + State(count: 1, isLoading: false)
                """
            ])
    }

    @Test("53: a wrong change of state fails the test with the difference")
    func wrongChange() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.increment)
            await store.receive(.changed(by: 1)) { $0.count = 2 }
            await store.finish()
        }
        #expect(
            texts == [
                """
                The state after .changed(by: 1) is not the expected one (- expected, + actual):
                  - State(count: 2, isLoading: false)
                  + State(count: 1, isLoading: false)
                """
            ])
    }

    @Test("53: another message or label than the expected one fails the test with the difference")
    func otherMessage() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.add(amount: 10))
            await store.receive(.changed(by: 1)) { $0.count = 1 }
            await store.expect(.milestone(count: 1))
            await store.finish()
        }
        #expect(
            texts == [
                """
                Another message came than expected (- expected, + received):
                  - .changed(by: 1)
                  + .changed(by: 10)
                """,
                """
                Another label was published than expected (- expected, + published):
                  - .milestone(count: 1)
                  + .milestone(count: 10)
                """,
            ])
    }

    @Test("53: a message or label that does not come fails the test, at once when no work runs")
    func missingMessage() async {
        let texts = await failures {
            let store = TestStore(Counter(), timeout: .seconds(3600))
            await store.receive(.changed(by: 1)) { $0.count = 1 }
            await store.expect(.milestone(count: 1))
            await store.expectFailure()
            await store.finish()
        }
        #expect(
            texts == [
                "Expected to receive .changed(by: 1), but it did not come. No work runs.",
                "Expected the label .milestone(count: 1), but it was not published. No work runs.",
                "Expected a failure, but nothing threw. No work runs.",
            ])
    }

    @Test("53: work that runs at the end fails the test with its id")
    func runningWork() async {
        let texts = await failures {
            let store = TestStore(Counter(), timeout: .seconds(3_600))
            await store.send(.tick)
            await store.receive(.changed(by: 1)) { $0.count = 1 }
            await store.finish()
        }
        #expect(
            texts == [
                "Expected to receive .changed(by: 1), but it did not come. Work runs: tick. "
                    + "1 of its tasks wait for time, which `advance(by:)` moves.",
                "Work still runs at the end of the test: tick. Let it end or cancel it. "
                    + "Use `advance(by:)` for work that waits for time.",
            ])
    }

    @Test("53: a test store that is not finished fails the test")
    func notFinished() async {
        let texts = await failures { _ = TestStore(Counter()) }
        #expect(
            texts == [
                "The test store was released without `await store.finish()`, so it is not known whether all was asserted."
            ])
    }

    @Test func `53: a test store that is given up says what the test has not asserted`() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.load) { $0.isLoading = true }
            await store.advance(by: .zero)
        }
        #expect(
            texts.count == 1 && texts.first?.hasSuffix("1 message was not received by the test:\n  .loaded(42)") == true
        )
    }

    @Test func `53: a closure that changes nothing, where nothing changes, is warned of`() async {
        let severities = Collected<String>()
        await withKnownIssue {
            let store = TestStore(Counter())
            await store.send(.add(amount: 0)) { $0.count = 0 }
            await store.send(.reset) { $0.isLoading = false }
            await store.send(.increment) { $0.count = 1 }
            await store.send(.add(amount: 1)) { state in state.count += 1 }
            await store.finish()
        } matching: { issue in
            severities.append("\(issue.severity) \(issue.comments.first?.rawValue.prefix(7) ?? "")")
            return true
        }
        #expect(severities.all == ["warning Neither", "warning Neither"])
    }

    @Test("53: an intent that is rejected fails the test, unless that is what the test says")
    func rejected() async {
        let rejections = Collected<StoreError?>()
        let texts = await failures {
            let store = TestStore(Counter())
            rejections.append(await store.sendRejected(.fail))
            await store.send(.fail)
            rejections.append(await store.sendRejected(.reset))
            await store.finish()
        }
        #expect(rejections.all.count == 2)
        guard let failure = rejections.all.first??.failure, rejections.all.last.flatMap({ $0 }) == nil else {
            Issue.record("rejected with \(rejections.all)")
            return
        }
        #expect(failure.error is Broken)
        #expect(texts.count == 2)
        #expect(texts.first == "The intent .fail was rejected: Broken().")
        #expect(texts.last == "The intent .reset was to be rejected, but it was executed.")
    }

    @Test("53: what threw in launched work can be expected")
    func expectedFailure() async {
        let store = TestStore(Throwing())
        await store.send(.inWork)
        await store.expect(.said("a"))
        await store.expect(.said("b"))
        let failure = await store.expectFailure()
        #expect(failure?.stage == .work("work"))
        await store.finish()
    }

    @Test("53: not exhaustive, it skips what the test does not say and checks what it does")
    func relaxed() async {
        let texts = await failures {
            let store = TestStore(Counter(), exhaustive: false)
            await store.send(.tick)
            await store.send(.increment)
            await store.send(.add(amount: 9))
            await store.receive(.changed(by: 9))
            await store.send(.add(amount: 10))
            await store.receive(.changed(by: 10)) { $0.count = 20 }
            await store.expect(.milestone(count: 20))
            await store.send(.increment)
            await store.receive(.changed(by: 1)) { $0.count = 99 }
            await store.finish()
        }
        #expect(texts.count == 1)
        #expect(texts.first?.contains("- State(count: 99, isLoading: false)") == true)
    }

    @Test("53: strictness can be relaxed on the way")
    func relaxedLater() async {
        let store = TestStore(Counter())
        await store.send(.increment)
        await store.receive(.changed(by: 1)) { $0.count = 1 }
        store.exhaustive(false)
        await store.send(.increment)
        await store.finish()
    }

    @Test("53: messages that cannot be compared are received by a condition")
    func condition() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.increment)
            await store.receive(where: { if case .changed = $0 { true } else { false } }) { $0.count = 1 }
            await store.send(.increment)
            await store.receive("something loaded", where: { if case .loaded = $0 { true } else { false } })
            await store.finish()
        }
        #expect(
            texts == [
                """
                Another message came than expected (- expected, + received):
                  - something loaded
                  + .changed(by: 1)
                """
            ])
    }

    @Test("53: what a restored store's bootstrap does is asserted")
    func restored() async {
        let store = TestStore(Restoring(), state: Restoring.State(isLoading: true))
        await store.receive(.interrupted) { $0.isLoading = false }
        await store.finish()
    }
}

/// A feature whose work throws after two labels.
private struct Throwing: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum Intent: Codable, Sendable { case inWork }
    enum Label: Codable, Equatable, Sendable { case said(String) }
    static let examples: [Intent] = [.inWork]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.publish(.said("a"))
        turn.launch(id: "work") { work in
            await work.publish(.said("b"))
            throw Broken()
        }
    }
    func reduce(_ state: inout State, _ message: Intent) {}
}

/// A feature that does not stay "loading" for ever.
private struct Restoring: Feature {
    struct State: Codable, Equatable, Sendable { var isLoading = false }
    enum Intent: Codable, Equatable, Sendable { case interrupted }
    static let examples: [Intent] = [.interrupted]
    let initialState = State()

    func bootstrap(_ life: StartReason, _ turn: inout Turn<Self>) {
        if life == .restored, turn.state.isLoading { turn.dispatch(.interrupted) }
    }
    func reduce(_ state: inout State, _ message: Intent) { state.isLoading = false }
}

/// Lets in only those who are signed in.
private struct Visitors: Feature {
    struct State: Codable, Equatable, Sendable { var names: [String] = [] }
    enum Intent: Codable, Sendable { case enter }
    enum Message: Equatable, Sendable { case entered(String) }

    static let examples: [Intent] = [.enter]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        guard let name = turn.principal?.subject else { throw Refusal(.forbidden) }
        turn.dispatch(.entered(name))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .entered(let name): state.names.append(name)
        }
    }
}

/// Knows what it is called.
private struct Named: Feature {
    struct State: Codable, Equatable, Sendable { var name = "" }
    enum Intent: Codable, Sendable { case ask }
    enum Message: Equatable, Sendable { case called(String) }

    static let examples: [Intent] = [.ask]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.called(turn.instance)) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .called(let name): state.name = name
        }
    }
}
