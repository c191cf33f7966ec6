import Locking
import MVI
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

private protocol Span: Sendable {
    static var name: String { get }
    static var days: Int { get }
}

private enum Short: Span {
    static let name = "short"
    static let days = 2
}

private enum Long: Span {
    static let name = "long"
    static let days = 200
}

/// A text that nobody needs after some days.
private struct Slip<Life: Span>: Feature {
    struct State: Codable, Equatable, Sendable { var text = "" }
    enum Intent: Codable, Sendable { case write(text: String) }

    static var name: String { Life.name }
    static var life: MVI.Life { .unused(days: Life.days) }
    static var examples: [Intent] { [.write(text: "a")] }

    var initialState: State { State() }

    func reduce(_ state: inout State, _ intent: Intent) {
        if case .write(let text) = intent { state.text = text }
    }
}

@Suite("72: lifetimes of shared stores")
struct SpaceLifeTests {
    private static let day: Duration = .seconds(24 * 3600)
    private let short = FeatureID(name: "short", key: "1")
    private let long = FeatureID(name: "long", key: "1")
    private let kept = MemoryJournal()
    private let time = ManualTime()

    private func table(_ journal: (any Journal)? = nil) throws -> SessionTable {
        let group = SpaceGroup("desk", isKeyed: true).forEveryone
        let features = try FeatureRegistry([
            FeatureDefinition(spaces: group) { _, _ in Slip<Short>() },
            FeatureDefinition(spaces: group) { _, _ in Slip<Long>() },
        ])
        return SessionTable(
            environment: SessionEnvironment(features: features, journal: journal ?? kept, time: time.source))
    }

    private func space(_ table: SessionTable) throws -> Session {
        let found = Box<SessionLookup>()
        table.space(try #require(SpaceName("desk:1")), permit: { nil }) { found.set($0) }
        return try #require(found.value?.session)
    }

    private func write(_ text: String, to feature: FeatureID, _ table: SessionTable) throws {
        let (client, answer) = (try table.made(.bearer).session, Answer())
        try space(table).send(
            IntentRequest(
                body: Array(#"{"type":"write","text":"\#(text)"}"#.utf8), client: SessionClient().in(client)),
            to: feature
        ) { answer.set($0) }
        _ = try #require(answer.value).get()
    }

    private func text(of feature: FeatureID, _ table: SessionTable) throws -> String {
        let state = try space(table).stateNow(of: feature)
        return try WireJSON.decode(Slip<Short>.State.self, from: state.view).text
    }

    private func stored() async throws -> [FeatureID] {
        let token = TokenHash(space: try #require(SpaceName("desk:1")))
        let load = try await awaitResult { kept.load(token, now: .zero, done: $0) }.get()
        guard case .found(let space) = load else { return [] }
        return space.stores.map(\.feature).sorted { $0.text < $1.text }
    }

    private func pass(_ days: Int, _ tables: SessionTable...) {
        for _ in 0..<days {
            time.advance(by: Self.day)
            for table in tables {
                for _ in 0..<2 { table.sweep(part: 1) }
            }
        }
    }

    @Test("a store that was not used for its life is a new one at its next use, and another of its space stays")
    func use() async throws {
        let first = try table()
        for feature in [short, long] { try write("old", to: feature, first) }
        await first.flush()
        time.advance(by: Self.day * 4)
        let table = try table()
        #expect(try text(of: short, table).isEmpty)
        #expect(try text(of: long, table) == "old")
    }

    @Test("a store that is used stays, and those that nobody uses are disposed of once a day", arguments: [1, 2])
    func search(nodes: Int) async throws {
        let cluster = NodeJournal.Cluster()
        let tables = try (0..<nodes).map { _ in try table(nodes == 1 ? nil : NodeJournal(kept, cluster)) }
        func beat() {
            guard nodes > 1 else { return }
            for (number, table) in tables.enumerated() { table.beat(at: "node:\(number)") }
        }
        for table in tables { table.listen() }
        beat()
        for feature in [short, long] { try write("old", to: feature, tables[0]) }
        func pass(_ days: Int) {
            for _ in 0..<(24 * days) {
                time.advance(by: .seconds(3600))
                beat()
                for table in tables { table.sweep(part: 1) }
            }
        }
        for day in 0..<4 {
            pass(1)
            try write("day \(day)", to: short, tables[0])
        }
        #expect(try await stored() == [long, short])
        for day in 0..<5 {
            pass(1)
            try write("day \(day)", to: long, tables[0])
        }
        try write("again", to: short, tables[0])
        pass(6)
        #expect(try await stored() == [long])
    }

    @Test("a space lives as long as the longest life of a feature")
    func longest() async throws {
        let first = try table()
        try write("old", to: long, first)
        await first.flush()
        let table = try table()
        pass(150, table)
        #expect(try await stored() == [long])
        #expect(try text(of: long, table) == "old")
        await table.flush()
        pass(250, try self.table())
        #expect(try await stored().isEmpty)
    }
}
