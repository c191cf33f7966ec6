import MVI
import MVITesting
import Testing

/// Asks a service about each intent, and has work that goes on by itself.
private struct Desk: Feature {
    struct State: Codable, Equatable, Sendable {
        var served = 0
        /// Written, and read as another value: a mistake.
        var secret = 0

        init(served: Int = 0, secret: Int = 0) { (self.served, self.secret) = (served, secret) }
        enum CodingKeys: String, CodingKey { case served, secret }
        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            served = try values.decode(Int.self, forKey: .served)
            secret = try values.decode(Int.self, forKey: .secret)
            if secret > 0 { throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no secrets")) }
        }
    }
    enum Intent: Codable, Sendable { case serve, prepare, spin, stop, hide, nap, never(Double) }
    enum Action: Codable, Sendable { case serve }
    enum Message: Equatable, Sendable { case served, hidden }
    static let examples: [Intent] = [.serve, .prepare]
    let initialState = State()
    var gate = Gate()
    var isChecked = true

    func check(_ intent: Intent) -> Check? {
        guard isChecked, case .serve = intent else { return nil }
        return { [gate] _ in
            try await gate.wait()
            return .execute
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .serve: turn.dispatch(.served)
        case .prepare: turn.launch(id: "prepare") { await $0.dispatch(.served) }
        case .spin: turn.launch(id: "spin") { _ in while !Task.isCancelled { await Task.yield() } }
        case .stop: turn.cancel("spin")
        case .hide: turn.dispatch(.hidden)
        case .nap:
            turn.launch(id: "nap") { work in
                try await work.sleep(for: .seconds(1))
                try await work.send(.serve)
            }
        case .never: break
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.served) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .served: state.served += 1
        case .hidden: state.secret += 1
        }
    }
}

@Suite("What a store under test waits for", .timeLimit(.minutes(10)))
struct TestStoreWaitingTests {
    @Test("53, 57: an intent whose check waits is answered when that is over")
    func check() async {
        let desk = Desk()
        let store = TestStore(desk)
        async let answer = store.send(.serve) { $0.served = 1 }
        await desk.gate.waiters()
        desk.gate.open()
        #expect(await answer != nil)
        await store.finish()
    }

    @Test("53, 57: a check that takes too long refuses the intent, as the time goes on")
    func longCheck() async {
        let store = TestStore(Desk())
        async let error = store.sendRejected(.serve)
        await store.clock.sleepers()
        await store.advance(by: .seconds(60))
        #expect(await error?.code == .checkTimeout)
        await store.finish()
    }

    @Test("53, 57: an intent that is not answered fails the test and does not hold it up for ever")
    func unanswered() async {
        let texts = await failures {
            let store = TestStore(Desk(), timeout: .milliseconds(1))
            await store.send(.serve)
            store.exhaustive(false)
            await store.finish()
        }
        #expect(texts.contains { $0.hasPrefix("The intent .serve was not answered within 0.001 seconds.") })
    }

    @Test func `a test that forgets to move the clock fails in a moment, and says what to do`() async {
        // With the store's timeout of 5 s it would not end before the suite's.
        let store = TestStore(Desk(), exhaustive: false, timeout: .seconds(3_600))
        await store.send(.nap)
        await withKnownIssue {
            await store.receive(.served)
        } matching: { issue in
            issue.comments.contains { "\($0)".contains("`advance(by:)` moves") }
        }
        await store.advance(by: .seconds(1))
        await store.finish()
    }

    @Test("53: work that never waits fails the test and does not hold it up for ever", arguments: [0, 1])
    func restless(seconds: Int) async {
        let texts = await failures {
            let store = TestStore(Desk(), timeout: .milliseconds(20))
            await store.send(.spin)
            await store.advance(by: .seconds(seconds))
            store.exhaustive(false)
            await store.finish()
        }
        #expect(texts.contains { $0.hasPrefix("The session does not become idle: ") && $0.contains("spin") })
    }

    @Test("53: the change of an intent is that of its own turn, also where launched work changes the same")
    func ownChange() async {
        let texts = await failures {
            let store = TestStore(Desk())
            await store.send(.prepare) { $0.served = 1 }
            await store.receive(.served) { $0.served = 1 }
            await store.finish()
        }
        #expect(texts.count == 1)
        #expect(texts.first?.hasPrefix("The turn of .prepare had no message, so it changed nothing") == true)
    }

    @Test("53, 58: what another store's work sends to its own store is not what the feature sent")
    func workOfOthers() async {
        let store = TestStore(Till(), others: [OtherStore(Desk(isChecked: false))])
        await store.send(.nap, to: Desk.self)
        await store.advance(by: .seconds(1))
        #expect(store.state(of: Desk.self)?.served == 1)
        await store.finish()
    }

    @Test("51, 53: a state that does not come back as it was kept fails the test")
    func unreadable() async {
        let texts = await failures {
            let store = TestStore(Desk())
            await store.send(.hide) { $0.secret = 1 }
            await store.passivate()
            await store.comeBack()
            await store.finish()
        }
        #expect(texts.count == 1)
        #expect(texts.first?.hasPrefix("The kept state of desk could not be read, so the store began anew: ") == true)
    }

    @Test("53: an intent that cannot be JSON is not what was sent, and two stores of one key are refused")
    func mistakes() async {
        let texts = await failures {
            let store = TestStore(Till(), others: [OtherStore(Desk())])
            await store.expectSent(.never(.nan), to: Desk.self)
            await store.finish()
            let twice = TestStore(
                Till(), others: [OtherStore(Trolley(), key: "a"), OtherStore(Trolley(), key: "a")])
            await twice.finish()
        }
        #expect(texts.count == 2)
        #expect(texts.first?.hasPrefix("The intent .never(nan) cannot be written as JSON: ") == true)
        #expect(texts.last?.contains("the session has two stores \"trolley:a\"") == true)
    }
}
