import MVI
import MVITesting
import Testing

@Suite("Recorded sessions of older schema versions", .timeLimit(.minutes(10)))
struct OldFixtureTests {
    private static func export(version: Int, state: String, _ turns: [String] = []) throws -> Fixture {
        try Fixture(
            Array(
                """
                {"format":"mvi-session/1","stores":[
                {"feature":"purse","schemaVersion":\(version),"version":1,"state":\(state)}],
                "turns":[\(turns.joined(separator: ","))]}
                """.utf8))
    }

    private static func turn(_ sequence: Int, _ state: String, _ messages: String = "") -> String {
        #"{"sequence":\#(sequence),"feature":"purse","recording":{"intent":"i","actions":[],"#
            + #""messages":[\#(messages)],"state":\#(state),"labels":[]}}"#
    }

    private func text(_ body: () throws -> Void) -> (UInt64?, String) {
        do { try body() } catch let error as FixtureError { return (error.sequence, error.description) } catch {}
        return (nil, "no error")
    }

    private let put = #"{"type":"put","cents":50}"#

    @Test("51, 54: a state of an older schema version is migrated")
    func state() throws {
        let fixture = try Self.export(version: 2, state: #"{"euros":1.5,"owner":"ann"}"#)
        #expect(try fixture.state(of: Purse()) == Purse.State(cents: 150, owner: "ann"))
    }

    @Test("51, 54: recorded states of an older version are migrated, and each is the start of the next turn")
    func replay() throws {
        let turns = [
            Self.turn(1, #"{"euros":1}"#), Self.turn(2, #"{"euros":1.5}"#, put),
            Self.turn(3, #"{"euros":2.5}"#, put + "," + put),
        ]
        let fixture = try Self.export(version: 2, state: #"{"euros":2.5}"#, turns)
        #expect(try fixture.replay(Purse()).map(\.cents) == [100, 150, 250])
        let wrong = try Self.export(version: 2, state: "{}", turns + [Self.turn(4, #"{"euros":9}"#, put)])
        #expect(
            text { try wrong.replay(Purse()) } == (
                4,
                """
                The state after turn 4 is not the recorded one (- recorded, + replayed):
                  - State(cents: 900, owner: "")
                  + State(cents: 300, owner: "")
                Its messages:
                  .put(cents: 50)
                """
            ))
    }

    @Test("51, 54: turns are read by their own version, and the first one of a version is not compared")
    func mixed() throws {
        func turn(_ version: Int, _ sequence: Int, _ state: String, _ messages: String = "") -> String {
            Self.turn(sequence, state, messages).replacing(
                #""labels":[]"#, with: #""labels":[],"schemaVersion":\#(version)"#)
        }
        let turns = [
            turn(2, 1, #"{"euros":1}"#), turn(2, 2, #"{"euros":1.5}"#, put),
            turn(3, 3, #"{"cents":200,"owner":"ann"}"#, put), turn(3, 4, #"{"cents":250,"owner":"ann"}"#, put),
        ]
        let state = #"{"cents":250,"owner":"ann"}"#
        #expect(
            try Self.export(version: 3, state: state, turns).replay(Purse()).map(\.cents) == [100, 150, 200, 250])
        let wrong = turns + [turn(3, 5, #"{"cents":900,"owner":"ann"}"#, put)]
        #expect(text { try Self.export(version: 3, state: state, wrong).replay(Purse()) }.0 == 5)
    }

    @Test("54: messages of an older version that the feature cannot decode say so, and what to do")
    func messages() throws {
        let turns = [Self.turn(1, #"{"euros":1}"#), Self.turn(2, #"{"euros":1.5}"#, #"{"type":"added","euros":0.5}"#)]
        let (sequence, text) = text { try Self.export(version: 2, state: "{}", turns).replay(Purse()) }
        #expect(sequence == 2)
        #expect(
            text.hasPrefix(
                #"The recording of turn 2 has messages of schema version 2 that the feature "purse" cannot decode as it is "#
                    + "now (version 3): "))
        #expect(
            text.hasSuffix(
                "\nLet `Message` decode the older form as well, or record a session of version 3 and export it. "
                    + "`state(of:)` reads the store's last state without its messages."))
    }

    @Test("51, 54: a newer version, one without a migration and a state that the migration cannot read say so")
    func unreadable() throws {
        let newer =
            #" has the schema version 4, and the feature "purse" has version 3: a newer build wrote it. "#
            + "Test it with that build, or export a session of this one."
        let fixture = try Self.export(version: 4, state: "{}", [Self.turn(1, "{}")])
        #expect(text { try fixture.replay(Purse()) }.1 == #"The store of "purse""# + newer)
        #expect(text { _ = try fixture.state(of: Purse()) }.1 == #"The state of "purse""# + newer)
        let old = try Self.export(version: 1, state: "{}", [Self.turn(1, "{}")])
        let reason =
            " cannot be read: it was written under the schema version 1, and there is no migration from that to 3. "
            + "Fix or add the feature's migration from version 1, or export a session of version 3."
        #expect(text { _ = try old.state(of: Purse()) }.1 == #"The state of "purse""# + reason)
        #expect(text { try old.replay(Purse()) } == (1, "The recording of turn 1: its state" + reason))
        let (_, broken) = text { _ = try Self.export(version: 2, state: "{}").state(of: Purse()) }
        #expect(broken.hasPrefix(#"The state of "purse" cannot be read: "#) && broken.contains("/euros"))
    }
}

/// Held euros until version 2; version 1 cannot be read any more.
private struct Purse: Feature {
    struct State: Codable, Equatable, Sendable {
        var cents = 0
        var owner = ""
    }
    enum Intent: Codable, Sendable { case put(cents: Int) }
    enum Message: Codable, Sendable { case put(cents: Int) }

    struct StateV2: Decodable {
        var euros: Double
        var owner: String?
    }

    static let examples: [Intent] = [.put(cents: 1)]
    static let schemaVersion = 3
    static let migrations = [
        Migration(from: 2, StateV2.self) { State(cents: Int($0.euros * 100), owner: $0.owner ?? "") }
    ]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .put(let cents) = intent { turn.dispatch(.put(cents: cents)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .put(let cents) = message { state.cents += cents }
    }
}
