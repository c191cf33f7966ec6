import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// A text that nobody needs after two days.
private struct Draft: Feature {
    static let life = Life.unused(days: 2)
    static let examples: [Intent] = [.write(text: "a"), .remember(days: 1), .work]

    struct State: Codable, Equatable, Sendable {
        var text = ""
        var steps = 0
    }

    enum Intent: Codable, Equatable, Sendable {
        case write(text: String)
        case remember(days: Int)
        case work
    }

    enum Message: Equatable, Sendable {
        case written(String)
        case stepped
    }

    enum Action: Codable, Equatable, Sendable {
        case remind
    }

    var initialState: State { State() }
    var gate = Gate()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .write(let text): turn.dispatch(.written(text))
        case .remember(let days): turn.remind(id: "later", after: .seconds(days * 24 * 3600), .remind)
        case .work:
            turn.launch { [gate] work in
                try await gate.wait()
                await work.dispatch(.stepped)
            }
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws { turn.dispatch(.stepped) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .written(let text): state.text = text
        case .stepped: state.steps += 1
        }
    }
}

@Suite("72: lifetimes of stores in a subject's session")
struct StoreLifeTests {
    private static let day: Duration = .seconds(24 * 3600)
    private let draft = FeatureID(name: "draft", key: "1")
    private let anna = Principal(issuer: "i", subject: "anna")

    private func table(
        _ kept: any Journal, _ time: ManualTime, isServed: Bool = true, gate: Gate = Gate(),
        clock: ManualClock = ManualClock()
    ) throws -> SessionTable {
        let features = try FeatureRegistry(
            isServed
                ? [FeatureDefinition(keyed: { _, _ in Draft(gate: gate) }), FeatureDefinition(Trolley())]
                : [FeatureDefinition(Trolley())])
        return SessionTable(
            environment: SessionEnvironment(features: features, journal: kept, time: time.source, clock: clock))
    }

    private func credential(_ table: SessionTable, _ token: SessionToken) throws -> (Session, SessionClient) {
        guard case .live(let session, let credential?) = try table.found(token) else { throw StoreError.sessionEnded }
        return (session, SessionClient(credential))
    }

    private func send(_ intent: String, _ table: SessionTable, _ token: SessionToken) throws {
        let (session, client) = try credential(table, token)
        let answer = Answer()
        session.send(IntentRequest(body: Array(intent.utf8), client: client), to: draft) { answer.set($0) }
        _ = try #require(answer.value).get()
    }

    private func text(_ table: SessionTable, _ token: SessionToken) throws -> String {
        try state(table, token).text
    }

    private func state(_ table: SessionTable, _ token: SessionToken) throws -> Draft.State {
        let (session, client) = try credential(table, token)
        let state = try session.stateNow(of: draft, for: client.credential)
        return try WireJSON.decode(Draft.State.self, from: state.view)
    }

    /// Opens a stream of another store, which keeps the session in memory.
    private func showTrolley(_ table: SessionTable, _ token: SessionToken) throws {
        let (session, client) = try credential(table, token)
        let opened = Lock(false)
        let trolley = FeatureID(name: Trolley.name, key: nil)
        session.openStream(.features([trolley]), from: .now, for: client) { result in
            if case .success = result { opened.withLock { $0 = true } }
        }
        #expect(opened.withLock { $0 })
    }

    private func stored(_ kept: MemoryJournal) async throws -> [FeatureID] {
        let record = try #require(
            try await awaitResult { kept.find(.shared(anna.identity), limit: 1, done: $0) }.get().first)
        guard
            case .found(let session) = try await awaitResult({ kept.load(record.tokenHash, now: .zero, done: $0) })
                .get()
        else { return [] }
        return session.stores.map(\.feature)
    }

    /// A device of a shared session with a draft.
    private func start(
        _ kept: MemoryJournal, _ time: ManualTime, gate: Gate = Gate()
    ) async throws -> (SessionTable, SessionToken) {
        let table = try table(kept, time, gate: gate)
        let (made, _) = try await table.create(.bearer, for: anna, isShared: true).get()
        try send(#"{"type":"write","text":"old"}"#, table, made.token)
        return (table, made.token)
    }

    @Test func `a store that was not used for its life is a new one at its next use, in memory or after a restart`()
        async throws
    {
        for restarts in [false, true] {
            let (kept, time) = (MemoryJournal(), ManualTime())
            var (table, token) = try await start(kept, time)
            func advance(_ days: Int) async throws {
                time.advance(by: Self.day * days)
                table.sweep(part: 1)
                if restarts {
                    await table.flush()
                    table = try self.table(kept, time)
                }
            }
            try await advance(1)
            #expect(try text(table, token) == "old")
            try await advance(1)
            #expect(try text(table, token) == "old")
            // The journal knows the last use to a day.
            for _ in 0..<4 { try await advance(1) }
            #expect(try text(table, token).isEmpty)
        }
    }

    @Test func `a reminder keeps a store, and a session without a subject keeps all`() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let (table, token) = try await start(kept, time)
        try send(#"{"type":"remember","days":20}"#, table, token)
        let anonymous = try table.new(.bearer).token
        let (session, other) = (try table.live(anonymous), Answer())
        session.send(IntentRequest(body: Array(#"{"type":"write","text":"old"}"#.utf8)), to: draft) { other.set($0) }
        for _ in 0..<8 {
            time.advance(by: .seconds(20 * 3600))
            _ = try table.found(anonymous)
            table.sweep(part: 1)
        }
        #expect(try text(table, token) == "old")
        #expect(session.hasStore(draft))
        let state = try session.stateNow(of: draft)
        #expect(try WireJSON.decode(Draft.State.self, from: state.view).text == "old")
    }

    @Test func `stores that nobody uses any more are disposed of once a day, also in sessions that are not in memory`()
        async throws
    {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let (first, _) = try await start(kept, time)
        await first.flush()
        time.advance(by: Self.day * 2)
        let table = try table(kept, time)
        table.sweep(part: 1)
        #expect(try await stored(kept) == [draft])
        // A page, and then the end of the list; the next search is a day later.
        for _ in 0..<3 {
            time.advance(by: Self.day)
            for _ in 0..<2 { table.sweep(part: 1) }
        }
        #expect(try await stored(kept).isEmpty)
    }

    @Test func `a feature that is not served keeps its stores`() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let (first, _) = try await start(kept, time)
        await first.flush()
        time.advance(by: Self.day * 10)
        let table = try table(kept, time, isServed: false)
        for _ in 0..<3 { table.sweep(part: 1) }
        #expect(try await stored(kept) == [draft])
    }

    @Test(arguments: [false, true])
    func `a life begins anew with the turn of a reminder`(isShown: Bool) async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let (table, token) = try await start(kept, time)
        try send(#"{"type":"remember","days":3}"#, table, token)
        if isShown { try showTrolley(table, token) }
        for _ in 0..<73 {
            time.advance(by: .seconds(3600))
            _ = await table.fireDueReminders()
            table.sweep(part: 1)
        }
        // Long enough for the store to leave memory, and too short for the session.
        for _ in 0..<(isShown ? 23 * 60 : 8) {
            time.advance(by: .seconds(60))
            table.sweep(part: 1)
        }
        #expect(try state(table, token) == Draft.State(text: "old", steps: 1))
    }

    @Test func `a store that nobody uses ends after its life although its session is used daily`() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        var table = try table(kept, time)
        let (made, _) = try await table.create(.bearer, for: anna, isShared: true).get()
        try send(#"{"type":"write","text":"old"}"#, table, made.token)
        for _ in 0..<5 {
            time.advance(by: Self.day)
            // Each day another process has it.
            await table.flush()
            table = try self.table(kept, time)
            let (session, client) = try credential(table, made.token)
            session.send(
                IntentRequest(body: Array(#"{"type":"put","items":1}"#.utf8), client: client),
                to: FeatureID(name: Trolley.name, key: nil)
            ) { _ in }
            table.sweep(part: 1)
        }
        #expect(try text(table, made.token) == "")
    }

    @Test func `a life begins anew with a step of work`() async throws {
        let (kept, time, gate) = (MemoryJournal(), ManualTime(), Gate())
        let (table, token) = try await start(kept, time, gate: gate)
        try send(#"{"type":"work"}"#, table, token)
        await gate.waiters()
        try showTrolley(table, token)
        for _ in 0..<72 {
            time.advance(by: .seconds(3600))
            table.sweep(part: 1)
        }
        let (session, _) = try credential(table, token)
        gate.open()
        while session.core.withLock({ $0.stores[draft]?.store?.diagnostics.runningWork }) != 0 { await Task.yield() }
        for _ in 0..<20 {
            time.advance(by: .seconds(60))
            table.sweep(part: 1)
        }
        #expect(try state(table, token) == Draft.State(text: "old", steps: 1))
    }

    @Test func `a store that was loaded after its request was answered leaves memory, and ends after its life`()
        async throws
    {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let (first, token) = try await start(kept, time)
        await first.flush()
        let (journal, clock) = (HeldJournal(kept), ManualClock())
        let table = try table(journal, time, clock: clock)
        try showTrolley(table, token)
        journal.holdStores()
        let (session, client) = try credential(table, token)
        let answer = Answer()
        let request = IntentRequest(body: Array(#"{"type":"write","text":"late"}"#.utf8), client: client)
        session.send(request, to: draft) { answer.set($0) }
        while answer.value == nil {
            clock.advance(by: .seconds(10))
            await Task.yield()
        }
        #expect(throws: StoreError.self) { try answer.value?.get() }
        journal.releaseLoads()
        #expect(session.hasStore(draft))
        for _ in 0..<4 {
            time.advance(by: Self.day)
            table.sweep(part: 1)
        }
        #expect(try text(table, token).isEmpty)
    }

    @Test func `a node does not dispose of a store that another node uses`() async throws {
        let (kept, time, cluster) = (MemoryJournal(), ManualTime(), NodeJournal.Cluster())
        let here = try table(NodeJournal(kept, cluster), time)
        let there = try table(NodeJournal(kept, cluster), time)
        func beat() {
            here.beat(at: "here:1")
            there.beat(at: "there:2")
        }
        for each in [here, there] { each.listen() }
        beat()
        let (made, _) = try await here.create(.bearer, for: anna, isShared: true).get()
        try send(#"{"type":"write","text":"first"}"#, here, made.token)
        try showTrolley(here, made.token)
        for day in 0..<4 {
            for _ in 0..<24 {
                time.advance(by: .seconds(3600))
                beat()
                for each in [here, there] { each.sweep(part: 1) }
            }
            try send(#"{"type":"write","text":"day \#(day)"}"#, there, made.token)
        }
        time.advance(by: .seconds(60))
        beat()
        here.sweep(part: 1)
        #expect(try text(there, made.token) == "day 3")
        #expect(try text(here, made.token) == "day 3")
    }
}
