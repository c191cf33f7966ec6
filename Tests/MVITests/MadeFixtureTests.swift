import Foundation
import MVI
import MVITesting
import Testing
import WireJSON

@Suite("Fixtures that a test makes", .timeLimit(.minutes(10)))
struct MadeFixtureTests {
    @Test("54: the turns of a test are a fixture, which a file holds and a later test replays")
    func ofStore() async throws {
        let store = TestStore(Counter(), exhaustive: false)
        let intents: [Counter.Intent] = [.increment, .add(amount: 9), .load, .reset]
        for intent in intents { await store.send(intent) }
        await store.sendRejected(.fail)
        let fixture = try await store.fixture()
        // The last one is the turn of the failure.
        let counts: [Int] = try fixture.replay(Counter()).map(\.count)
        #expect(counts == [0, 1, 10, 10, 42, 42, 42])
        let read = try Fixture(fixture.json)
        #expect(try read.replay(Counter()) == fixture.replay(Counter()))
        #expect(try read.state(of: Counter()) == store.state && read.json == fixture.json)
        // One line for the beginning, one for each store and each turn.
        #expect(String(decoding: fixture.json, as: UTF8.self).split(separator: "\n").count == 1 + 1 + 7)
        await store.send(.increment)
        #expect(try await store.fixture().replay(Counter()).last?.count == 43)
    }

    @Test("54: a reducer that has changed fails the replay of a test's turns")
    func changed() async throws {
        let store = TestStore(Sum(factor: 1), exhaustive: false)
        await store.send(.add(amount: 5))
        let fixture = try await store.fixture()
        let error = #expect(throws: FixtureError.self) { try fixture.replay(Sum(factor: 2)) }
        #expect(error?.sequence == 2)
    }

    @Test("54: a store that began with a state, and its session's other stores, are in the fixture")
    func ofSession() async throws {
        let store = TestStore(
            Counter(), key: "a", state: Counter.State(count: 7),
            others: [OtherStore(Trolley(), state: Trolley.State(items: 3))], exhaustive: false)
        await store.send(.increment)
        let fixture = try await store.fixture()
        #expect(fixture.stores.map(\.feature).sorted() == ["counter:a", "trolley"])
        #expect(try fixture.replay(Counter(), instance: "counter:a").map(\.count) == [7, 8])
        #expect(try fixture.state(of: Trolley()) == Trolley.State(items: 3))
    }

    @Test("54: a feature whose messages cannot be encoded is no failure of the test beside one whose can")
    func notCodable() async throws {
        let store = TestStore(Counter(), others: [OtherStore(Opaque())])
        await store.send(.add(amount: 1)) { $0.count = 1 }
        await store.send(.go, to: Opaque.self)
        #expect(try await store.fixture().replay(Counter()).map(\.count) == [0, 1])
        await store.finish()
    }

    @Test("54: a recording that another encoder writes is one that a fixture reads, with every number exact")
    func otherCoders() throws {
        let state = Sum.State(
            total: .max, least: .min, share: 0.1, text: "é\"\u{1F600}\\", none: nil, flags: [true, false],
            names: ["a": [1, 2], "type": []], last: .add(amount: 3))
        let recording = TurnRecording<Sum>(
            intent: "i", cause: .add(amount: 3), actions: [], messages: [.add(amount: 3)], state: state, labels: [])
        let json = try JSONEncoder().encode(recording)
        let own = try WireJSON.decode(TurnRecording<Sum>.self, from: Array(json))
        #expect(own.state == state && own.messages == [.add(amount: 3)] && own.cause == .add(amount: 3))
        #expect(try JSONDecoder().decode(TurnRecording<Sum>.self, from: json).state == state)
        let fixture = try Fixture(
            Array(#"{"format":"mvi-session/1","stores":[],"turns":[{"sequence":5,"feature":"sum","recording":"#.utf8)
                + Array(json) + Array("}]}".utf8))
        #expect(try fixture.replay(Sum(factor: 1)) == [state])
        #expect(String(decoding: json, as: UTF8.self).contains(#""none":null"#))
    }

    @Test("54: values that JSON cannot hold, and texts that are no recording, are errors of the coder that was asked")
    func errors() throws {
        let broken = TurnRecording<Sum>(
            intent: "i", cause: nil, actions: [], messages: [], state: Sum.State(share: .nan), labels: [])
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(broken) }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(TurnRecording<Sum>.self, from: Data(#"{"intent":5}"#.utf8))
        }
    }
}

/// A feature whose state has a value of each kind.
private struct Sum: Feature {
    enum Intent: Codable, Equatable, Sendable { case add(amount: UInt64) }
    struct State: Codable, Equatable, Sendable {
        var total: UInt64 = 0
        var least: Int64 = 0
        var share = 0.5
        var text = ""
        var none: Int?
        var flags: [Bool] = []
        var names: [String: [Int]] = [:]
        var last: Intent?
    }
    static let examples: [Intent] = [.add(amount: 1)]
    let initialState = State()
    let factor: UInt64

    func reduce(_ state: inout State, _ intent: Intent) {
        if case .add(let amount) = intent { state.total += amount * factor }
    }
}

/// A feature whose messages hold an error.
private struct Opaque: Feature {
    enum Intent: Codable, Sendable { case go }
    enum Message: Sendable { case failed(any Error) }
    static let examples: [Intent] = [.go]
    let initialState = 0

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.failed(Broken())) }
    func reduce(_ state: inout Int, _ message: Message) { state += 1 }
}
