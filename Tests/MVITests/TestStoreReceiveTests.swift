import MVI
import MVITesting
import Testing

@Suite("What a test of a feature can say of an intent", .timeLimit(.minutes(10)))
struct TestStoreReceiveTests {
    // MARK: The change of an intent's own turn

    @Test("53: a send says the change of the intent's own turn, with all its messages; those of its work are received")
    func sendWithChange() async {
        let store = TestStore(Till())
        await store.send(.stamp(count: 2)) {
            $0.stamps = ["01 2026-01-01T00:00:00.000Z", "02 2026-01-01T00:00:00.000Z"]
        }
        await store.send(.load) { $0.rings = 1 }
        await store.receive(.rang(times: 10)) { $0.rings = 11 }
        await store.send(.hush)
        await store.finish()
    }

    @Test func `53: a closure that throws fails the test with what it threw`() async {
        struct Odd: Error {}
        let thrown = Collected<String>()
        await withKnownIssue {
            let store = TestStore(Counter())
            await store.send(.increment) { _ in throw Odd() }
            await store.send(.increment)
            await store.receive(.changed(by: 1)) { _ in throw Odd() }
            await store.finish()
        } matching: { issue in
            thrown.append(issue.error.map { "\($0)" } ?? "\(issue)")
            return true
        }
        #expect(thrown.all == ["Odd()", "Odd()"])
    }

    @Test("53: a wrong change of an intent's turn fails the test with the difference, also where it has no message")
    func wrongSend() async {
        let texts = await failures {
            let store = TestStore(Counter())
            await store.send(.increment) { $0.count = 2 }
            await store.send(.increment) { _ in }
            await store.send(.reset) { $0.count = 9 }
            await store.finish()
        }
        #expect(
            texts == [
                """
                The state after .increment is not the expected one (- expected, + actual):
                  - State(count: 2, isLoading: false)
                  + State(count: 1, isLoading: false)
                """,
                """
                The state after .increment is not the expected one (- expected, + actual):
                  - State(count: 1, isLoading: false)
                  + State(count: 2, isLoading: false)
                """,
                """
                The turn of .reset had no message, so it changed nothing (- expected, + actual):
                  - State(count: 9, isLoading: false)
                  + State(count: 2, isLoading: false)
                """,
            ])
    }

    @Test("53: an intent that JSON cannot hold fails the test: no client could send it")
    func notEncodable() async {
        let texts = await failures {
            let store = TestStore(Till())
            await store.send(.weigh(.infinity))
            await store.finish()
        }
        #expect(texts.count == 1)
        #expect(
            texts.first?.hasPrefix("The intent .weigh(inf) cannot be written as JSON, so no client can send it: ")
                == true)
    }

    // MARK: Messages by their case

    @Test("53: messages are received by their case, whatever their values")
    func byCase() async {
        let store = TestStore(Till())
        await store.send(.stamp(count: 1))
        await store.receive(Till.Message.stamped) { state, id, time in
            #expect(id == "00000000-0000-4000-8000-000000000001" && time == .testStart)
            state.stamps = ["01 \(time)"]
        }
        await store.send(.load)
        for _ in 1...2 { await store.receive(Till.Message.rang) { state, times in state.rings += times } }
        await store.finish()
    }

    @Test("53: a message of another case, and a change that is not described, fail the test with the difference")
    func otherCase() async {
        let texts = await failures {
            let store = TestStore(Till())
            await store.send(.ring)
            await store.receive(Till.Message.ordered) { state, items in state.orders = [items] }
            await store.receive(Till.Message.rang)
            await store.receive(Till.Message.ordered)
            await store.finish()
        }
        #expect(
            texts == [
                """
                Another message came than expected (- expected, + received):
                  - a message of a case with String
                  + .rang(times: 1)
                """,
                """
                .rang(times: 2) changed the state, and the test does not describe the change (- expected, + actual):
                  - State(orders: [], stamps: [], rings: 1, returns: 0)
                  + State(orders: [], stamps: [], rings: 3, returns: 0)
                """,
                "Expected to receive a message of a case with String, but it did not come. No work runs.",
            ])
    }

    private enum Pair: Equatable, Sendable {
        case left(Int), right(Int), both(Int, text: String?), maybe(Int?), tuple((Int, Int)), plain
        static func == (left: Pair, right: Pair) -> Bool { "\(left)" == "\(right)" }
    }

    private struct Pairs: Feature {
        struct State: Codable, Equatable, Sendable { var seen: [String] = [] }
        enum Intent: Codable, Sendable { case go }
        static let examples: [Intent] = [.go]
        let initialState = State()
        let pairs: [Pair]
        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { for pair in pairs { turn.dispatch(pair) } }
        func reduce(_ state: inout State, _ message: Pair) { state.seen.append("\(message)") }
    }

    @Test("53: a case is told from another with values of the same types; optional values and tuples are values, too")
    func payloads() async {
        let store = TestStore(
            Pairs(pairs: [.left(1), .right(2), .both(3, text: nil), .maybe(nil), .maybe(4), .tuple((5, 6)), .plain]))
        store.exhaustive(false)
        await store.send(.go)
        await store.receive(Pair.right) { _, value in #expect(value == 2) }
        await store.receive(Pair.both) { _, value, text in #expect(value == 3 && text == nil) }
        await store.receive(Pair.maybe) { _, value in #expect(value == nil) }
        await store.receive(Pair.maybe) { _, value in #expect(value == 4) }
        await store.receive(Pair.tuple) { _, value in #expect(value == (5, 6)) }
        await store.finish()
    }

    // MARK: Actions

    @Test("53: actions are checked where the test asks, in their order")
    func actions() async {
        let texts = await failures {
            let store = TestStore(Till())
            await store.send(.ring) { $0.rings = 3 }
            await store.receive(action: .ring(times: 2))
            await store.receive(action: .ring(times: 1))
            await store.send(.ring) { $0.rings = 6 }
            await store.receive(action: .ring(times: 1))
            await store.receive(action: .fail)
            await store.finish()
        }
        #expect(
            texts == [
                "Expected the action .ring(times: 1), but it was not performed. None was.",
                "Expected the action .fail, but it was not performed. These were:\n  .ring(times: 2)",
            ])
    }

    @Test("53, 61: code outside the features has actions performed; one that throws fails the test")
    func performed() async {
        let texts = await failures {
            let store = TestStore(Till(), principal: Principal(subject: "ann"))
            await store.perform(.ring(times: 3))
            await store.receive(action: .ring(times: 3))
            await store.receive(.rang(times: 3)) { $0.rings = 3 }
            await store.perform(.fail)
            await store.finish()
        }
        #expect(texts == ["The action .fail was rejected: Silent()."])
    }

    // MARK: Refusals

    @Test("53, 57: an action that is rejected is asserted with its kind and its code")
    func rejectedAction() async {
        let texts = await failures {
            let store = TestStore(Till())
            let error = await store.performRejected(.refuse(code: "closed"), .conflict, code: "closed")
            #expect(error?.code == .conflict)
            await store.performRejected(.fail)
            #expect(store.state == Till.State())
            await store.performRejected(.refuse(code: "closed"), .forbidden, code: "full")
            await store.performRejected(.ring(times: 1))
            await store.receive(action: .ring(times: 1))
            await store.receive(.rang(times: 1)) { $0.rings = 1 }
            await store.finish()
        }
        #expect(
            texts == [
                """
                The action .refuse(code: "closed") was rejected differently than expected (- expected, + actual):
                  - kind: .forbidden
                  - code: "full"
                  + kind: .conflict
                  + code: "closed"
                Error: conflict, No
                """, "The action .ring(times: 1) was to be rejected, but it was performed.",
            ])
    }

    @Test("53, 57: a rejection is asserted with its kind, its code and its pointers")
    func rejections() async {
        let store = TestStore(Till(), others: [OtherStore(Trolley())])
        await store.sendRejected(.refuse(code: "a"), .invalid, code: "a", pointers: ["/code"])
        await store.sendRejected(.refuse(code: "a"), .invalid)
        await store.sendRejected(.send(.refuse), .conflict, code: "not-now", pointers: ["/items"])
        await store.sendRejected(.send(.jam))
        await store.finish()
    }

    @Test("53, 57: a rejection that is another one than expected fails the test with the difference")
    func wrongRejection() async {
        let texts = await failures {
            let store = TestStore(Till(), others: [OtherStore(Trolley())])
            await store.sendRejected(.refuse(code: "a"), .forbidden, code: "b", pointers: [])
            await store.sendRejected(.send(.jam), .invalid, code: "a")
            await store.finish()
        }
        #expect(
            texts == [
                """
                The intent .refuse(code: "a") was rejected differently than expected (- expected, + actual):
                  - kind: .forbidden
                  - code: "b"
                  - pointers: []
                  + kind: .invalid
                  + code: "a"
                  + pointers: ["/code"]
                Error: refused, No (/code: No.)
                """,
                """
                The intent .send(.jam) was rejected differently than expected (- expected, + actual):
                  - kind: .invalid
                  - code: "a"
                  + kind: none, it is failed
                  + code: none
                Error: Jammed()
                """,
            ])
    }

    // MARK: Surroundings

    @Test("53, 56, 59: a feature is made with the test's time, UUIDs and session, which its turns have as well")
    func surroundings() async {
        let ann = Principal(subject: "ann")
        let clock = ManualClock()
        let made = Collected<String>()
        let store = TestStore(
            key: "7", principal: ann, now: Timestamp(sinceEpoch: .seconds(60)), clock: clock,
            uuid: { "u\(made.all.count)" }
        ) { surroundings in
            made.append("\(surroundings.now()) \(surroundings.uuid())")
            #expect(surroundings.clock === clock && surroundings.principal == ann)
            return Till(owner: surroundings.session.subject?.id ?? "")
        }
        #expect(made.all == ["1970-01-01T00:01:00.000Z u0"] && store.feature.owner == "ann")
        await store.advance(by: .seconds(2))
        await store.send(.stamp(count: 1)) { $0.stamps = ["u1 1970-01-01T00:01:02.000Z"] }
        await store.finish()
        #expect(throws: Trolley.Jammed.self) { try TestStore { _ -> Till in throw Trolley.Jammed() } }
    }

    @Test("53, 56: the principal whose session it is sends the intents, unless the test says another")
    func principal() async {
        let store = TestStore(Guests(), principal: Principal(issuer: "test", subject: "ann"))
        await store.send(.enter) { $0.names = ["ann in ann's"] }
        await store.send(.enter, as: Principal(issuer: "test", subject: "bob")) { $0.names.append("bob in ann's") }
        await store.finish()
        let session = SessionInfo(id: "s", subject: Subject(issuer: "test", id: "cid"))
        let anonymous = TestStore(Guests(), session: session)
        await anonymous.send(.enter) { $0.names = ["nobody in cid's"] }
        await anonymous.finish()
    }

    @Test("53: a feature that a server would not serve fails the test")
    func notServed() async {
        let texts = await failures {
            let store = TestStore(Till(), key: "a/b")
            await store.send(.ring)
            #expect(store.state == Till.State())
            await store.finish()
        }
        #expect(
            texts == [
                "The store cannot be created as a server does: \"till:a/b\" is not a feature id: a key has 1 to 64 of the "
                    + "characters A-Z, a-z, 0-9 and . _ ~ -."
            ])
    }
}

/// Knows whose session it is.
private struct Guests: Feature {
    struct State: Codable, Equatable, Sendable { var names: [String] = [] }
    enum Intent: Codable, Sendable { case enter }
    enum Message: Sendable { case entered(String) }

    static let examples: [Intent] = [.enter]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.entered("\(turn.principal?.subject ?? "nobody") in \(turn.session.subject?.id ?? "nobody")'s"))
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .entered(let name) = message { state.names.append(name) }
    }
}
