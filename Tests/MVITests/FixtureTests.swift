import MVI
import MVITesting
import TestSupport
import Testing
import WireJSON

@Suite("Recorded sessions as fixtures", .timeLimit(.minutes(10)))
struct FixtureTests {
    private static func export(
        format: String = "mvi-session/1", schemaVersion: Int = 1, state: String = #"{"count":7,"isLoading":false}"#,
        _ turns: [String]
    ) -> [UInt8] {
        Array(
            """
            {"format":"\(format)","session":{"id":"s","epoch":"e"},
             "stores":[{"feature":"counter","schemaVersion":\(schemaVersion),"version":3,"state":\(state),"view":{}}],
             "labels":[],"receipts":[],"setAside":[],"turns":[\(turns.joined(separator: ","))]}
            """.utf8)
    }

    private static func turn(
        _ sequence: Int, _ count: Int, changes: [Int] = [], isLoading: Bool = false, feature: String = "counter",
        intent: String = "i"
    ) -> String {
        let messages = changes.map { #"{"type":"changed","by":\#($0)}"# }.joined(separator: ",")
        return """
            {"sequence":\(sequence),"feature":"\(feature)","time":1.5,"recording":{"intent":"\(intent)","actions":[],
             "messages":[\(messages)],"state":{"count":\(count),"isLoading":\(isLoading)},"labels":[]}}
            """
    }

    private func counts(_ turns: [String], instance: String = "counter") throws -> [Int] {
        try Fixture(Self.export(turns)).replay(Counter(), instance: instance).map(\.count)
    }

    private func error(_ body: () throws -> Void) -> FixtureError? {
        do { try body() } catch { return error as? FixtureError }
        return nil
    }

    @Test("54: replaying the messages of a recorded session gives its states")
    func replays() throws {
        let turns = [
            Self.turn(1, 0, intent: "‹bootstrap›"), Self.turn(2, 3, changes: [1, 2]),
            Self.turn(3, 9, feature: "other"), Self.turn(4, 3), Self.turn(5, 7, changes: [4]),
        ]
        #expect(try counts(turns) == [0, 3, 3, 7])
        #expect(try counts(turns.reversed()) == [0, 3, 3, 7])
        let fixture = try Fixture(Self.export(turns))
        #expect(fixture.stores.map(\.feature) == ["counter"])
        #expect(try fixture.state(of: Counter()) == Counter.State(count: 7))
    }

    @Test("54: what a store records replays to the states that it had")
    func recorded() async throws {
        let log = AppendLog<Counter>([])
        let executor = TestExecutor()
        let store = HostedStore(Counter(), environment: StoreEnvironment(executor: executor), log: log)
        store.start()
        for intent in [Counter.Intent.increment, .add(amount: 9), .load, .reset] {
            try await store.send(intent)
            await executor.idle()
        }
        let turns = log.recordings.map { turn in
            let recording = String(decoding: turn.recording, as: UTF8.self)
            return #"{"sequence":\#(turn.number),"feature":"counter","time":0,"recording":\#(recording)}"#
        }
        #expect(try Fixture(Self.export(turns)).replay(Counter()) == log.batches.joined().map(\.state))
        #expect(log.batches.count > 4)
        store.dispose()
    }

    @Test("54: a recording that lacks its beginning starts from the first state that it has, and so after a gap")
    func incomplete() throws {
        #expect(try counts([Self.turn(5, 40, changes: [1]), Self.turn(6, 42, changes: [2])]) == [40, 42])
        #expect(
            try counts([Self.turn(1, 1, changes: [1]), Self.turn(4, 9, changes: [1]), Self.turn(5, 10, changes: [1])])
                == [1, 9, 10])
    }

    @Test("54: a store that was disposed of begins anew with its bootstrap")
    func newLife() throws {
        #expect(
            try counts([
                Self.turn(1, 0, intent: "‹bootstrap›"), Self.turn(2, 3, changes: [3]),
                Self.turn(3, 0, intent: "‹bootstrap›"), Self.turn(4, 1, changes: [1]),
                Self.turn(5, 1, intent: "‹bootstrap›"),
            ]) == [0, 3, 0, 1, 1])
    }

    @Test("54: a state that comes out otherwise is thrown with the turn and the difference")
    func different() {
        let found = error {
            try Fixture(Self.export([Self.turn(1, 0), Self.turn(2, 5, changes: [1, 2])])).replay(Counter())
        }
        #expect(found?.sequence == 2)
        #expect(
            found?.description == """
                The state after turn 2 is not the recorded one (- recorded, + replayed):
                  - State(count: 5, isLoading: false)
                  + State(count: 3, isLoading: false)
                Its messages:
                  .changed(by: 1)
                  .changed(by: 2)
                """)
        let silent = error { try Fixture(Self.export([Self.turn(1, 5)])).replay(Counter()) }
        #expect(silent?.description.hasSuffix("The turn had no messages.") == true)
    }

    @Test("51, 54: members that recorded states lack come from the initial state")
    func filled() throws {
        let turn =
            #"{"sequence":1,"feature":"counter","time":0,"recording":"#
            + #"{"intent":"i","actions":[],"messages":[{"type":"changed","by":2}],"state":{"count":2},"labels":[]}}"#
        let fixture = try Fixture(Self.export(state: #"{"count":2}"#, [turn]))
        #expect(try fixture.replay(Counter()) == [Counter.State(count: 2)])
        #expect(try fixture.state(of: Counter()) == Counter.State(count: 2))
    }

    @Test("54: a fixture that cannot be used says why")
    func unusable() {
        let good = Self.export([Self.turn(1, 0)])
        #expect(
            error { _ = try Fixture(Self.export(format: "mvi-session/2", [])) }?.description
                == #"The fixture has the format "mvi-session/2"; this version reads "mvi-session/1"."#)
        #expect(
            error { _ = try Fixture(Array("[]".utf8)) }?.description.hasPrefix("The fixture is not an exported session")
                == true)
        #expect(
            error { _ = try Fixture(Array(#"{"format":"mvi-session/1"}"#.utf8)) }?.description
                .contains("/stores") == true)
        #expect(
            error { try Fixture(good).replay(Counter(), instance: "counter:2") }?.description
                == #"The fixture has no recorded turn of "counter:2". It has turns of: "counter"."#)
        #expect(
            error { try Fixture(Self.export([])).replay(Counter()) }?.description
                == #"The fixture has no recorded turn of "counter". It has turns of: nothing; was recording on?"#)
        #expect(
            error { _ = try Fixture(good).state(of: Script()) }?.description
                == #"The fixture has no store of "script". It has: "counter"."#)
        #expect(
            error { try Fixture(Self.export(schemaVersion: 2, [Self.turn(1, 0)])).replay(Counter()) }?.description
                == #"The store of "counter" has the schema version 2, and the feature "counter" has version 1: "#
                + "a newer build wrote it. Test it with that build, or export a session of this one."
        )
        let foreign = error {
            try Fixture(Self.export([Self.turn(1, 1, changes: [1])])).replay(Script(), instance: "counter")
        }
        #expect(foreign?.sequence == 1)
        #expect(
            foreign?.description.hasPrefix(#"The recording of turn 1 does not belong to the feature "script""#) == true)
        #expect(
            error { _ = try Fixture(Self.export(state: #"{"count":"x"}"#, [])).state(of: Counter()) }?.description
                .hasPrefix(#"The state of "counter" does not belong to the feature "counter": "#) == true)
    }
}
