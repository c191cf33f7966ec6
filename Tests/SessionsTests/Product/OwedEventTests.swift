import EventStream
import LibCrypto
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// A slip that lives a day.
private struct Slip: Feature {
    struct State: Codable, Equatable, Sendable { var lines = 0 }
    enum Intent: Codable, Sendable { case write }
    enum Message: Sendable { case written }
    enum Label: Codable, Equatable, Sendable { case wrote }
    static let life = Life.unused(days: 1)
    static let examples: [Intent] = [.write]
    static let labelExamples: [Label] = [.wrote]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.written)
        turn.publish(.wrote)
    }

    func reduce(_ state: inout State, _ message: Message) { state.lines += 1 }

    func timeToLive(of label: Label) -> Duration { .seconds(30 * 24 * 3_600) }
}

@Suite("Events that a stream owes although it cannot show them now")
struct OwedEventTests {
    private let basket = FeatureID(name: "basket", key: nil)
    private let till = FeatureID(name: "till", key: nil)

    private func table(
        _ definitions: [FeatureDefinition], _ kept: any Journal, loaded: Int = 64,
        time: ManualTime = ManualTime()
    ) throws -> SessionTable {
        var limits = SessionLimits.patient
        limits.loadedStores = loaded
        return SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry(definitions), limits: limits, journal: kept, time: time.source,
                clock: ManualClock()))
    }

    private func anna(_ tier: String) -> Principal {
        Principal(issuer: "i", subject: "anna", claims: ["tier": .string(tier)])
    }

    private func client(_ table: SessionTable, _ token: SessionToken) throws -> (Session, SessionClient) {
        guard case .live(let session, let credential) = try table.found(token) else { throw StoreError.sessionEnded }
        return (session, SessionClient(credential))
    }

    private func send(_ body: String, to feature: FeatureID, _ session: Session, _ client: SessionClient) throws {
        let sent = Answer()
        session.send(IntentRequest(body: Array(body.utf8), client: client), to: feature) { sent.set($0) }
        _ = try #require(sent.value).get()
    }

    private func stream(_ session: Session, _ client: SessionClient) throws -> TestStream {
        let opened = Box<Result<SessionStream, StoreError>>()
        session.openStream(.all, from: .earliest, for: client) { opened.set($0) }
        return TestStream(try #require(opened.value).get())
    }

    @Test func `no stream shows labels of a feature that is served no more, and no cursor passes them`() async throws {
        let kept = MemoryJournal()
        let ruled = try FeatureDefinition(Till(), rule: { principal, _, _ in principal?.claim("tier") == "gold" })
        let before = try table([ruled, try FeatureDefinition(Trolley())], kept)
        let (made, session) = try await before.create(.bearer, for: anna("gold"), isShared: true).get()
        let (_, gold) = try client(before, made.token)
        try send(#"{"type":"who"}"#, to: till, session, gold)
        let disposed = Box<Result<Bool, StoreError>>()
        session.removeStore(till, for: gold) { disposed.set($0) }
        #expect(try #require(disposed.value).get())

        // Its rule for who may see them is gone.
        let after = try table([try FeatureDefinition(Trolley())], kept)
        let (other, _) = try await after.create(.bearer, for: anna("free"), isShared: true).get()
        let (same, free) = try client(after, other.token)
        #expect(same.id == session.id)
        let stream = try stream(same, free)
        try send(#"{"type":"put","items":1}"#, to: basket, same, free)
        let events = try stream.read()
        #expect(events.map(\.name) == ["hello", "state"])
        let held = same.core.withLock { $0.outbox.entries.first?.label.id.number }
        let last = try #require(events.compactMap { $0.id.flatMap { Cursor($0) } }.last?.sequence)
        #expect(last < (try #require(held)))
        // A build that serves it shows them.
        let (again, same2) = (try table([ruled, try FeatureDefinition(Trolley())], kept), made.token)
        let (session2, gold2) = try client(again, same2)
        #expect(try self.stream(session2, gold2).read().contains { $0.name == "label" })
    }

    @Test func `a stream of all stores shows a passive one that its client may see from now on, and labels go on`()
        async throws
    {
        let kept = MemoryJournal()
        let definitions = [
            try FeatureDefinition(Trolley(), rule: { principal, _, _ in principal?.claim("tier") == "gold" }),
            try FeatureDefinition(Till()),
        ]
        let time = ManualTime()
        let before = try table(definitions, kept, time: time)
        let (made, first) = try await before.create(.bearer, for: anna("gold"), isShared: true).get()
        let (_, gold) = try client(before, made.token)
        try send(#"{"type":"put","items":2}"#, to: basket, first, gold)
        let (other, _) = try await before.create(.bearer, for: anna("free"), isShared: true).get()
        time.advance(by: .seconds(3 * 24 * 3_600))
        try send(#"{"type":"stamp"}"#, to: till, first, try client(before, other.token).1)

        // After a restart the stream has the store that was used last in memory.
        let table = try table(definitions, kept, loaded: 1, time: time)
        let (session, free) = try client(table, other.token)
        let stream = try stream(session, free)
        #expect(try stream.read().map(\.name) == ["hello", "state"])
        #expect(session.core.withLock { $0.stores[basket]?.store == nil })
        let renewed = await table.identify(
            session, other.token, free.credential, as: anna("gold"), proof: ProofHash.of("a proof"))
        _ = try renewed.get()
        try send(#"{"type":"who"}"#, to: till, session, free)
        let events = try stream.read()
        #expect(events.filter { $0.name == "state" }.count == 1, "that of the basket")
        #expect(events.contains { $0.name == "label" })
    }

    @Test func `a stream shows the labels of a store although another one was to be in memory for it`() async throws {
        let (journal, time, slip) = (HeldJournal(), ManualTime(), FeatureID(name: "slip", key: nil))
        let definitions = [
            try FeatureDefinition(Slip()), try FeatureDefinition(Trolley()), try FeatureDefinition(Till()),
        ]
        let table = try table(definitions, journal, loaded: 1, time: time)
        let (made, session) = try await table.create(.bearer, for: anna("free"), isShared: true).get()
        let (_, client) = try client(table, made.token)
        try send(#"{"type":"who"}"#, to: till, session, client)
        time.advance(by: .seconds(1))
        try send(#"{"type":"write"}"#, to: slip, session, client)
        table.sweep(part: 1)
        #expect(session.core.withLock { $0.stores[till]?.store == nil })
        journal.hold()
        let (opened, disposed) = (Box<Result<SessionStream, StoreError>>(), Box<Result<Bool, StoreError>>())
        let put = IntentRequest(body: Array(#"{"type":"put","items":1}"#.utf8), client: client)
        session.send(put, to: basket) { _ in }
        // In one batch: the stream's store is disposed of before the stream opens.
        session.send(put, to: basket) { _ in }
        session.openStream(.all, from: .earliest, for: client) { opened.set($0) }
        session.removeStore(slip, for: client) { disposed.set($0) }
        journal.release()
        #expect(try #require(disposed.value).get())
        let events = try TestStream(try #require(opened.value).get()).read()
        #expect(events.filter { $0.name == "label" }.count == 2)
    }

    @Test func `labels of a store whose life is over are shown, and the cursor passes them`() async throws {
        let (kept, time, slip) = (MemoryJournal(), ManualTime(), FeatureID(name: "slip", key: nil))
        let definitions = [try FeatureDefinition(Slip()), try FeatureDefinition(Trolley())]
        let before = try table(definitions, kept, time: time)
        let (made, first) = try await before.create(.bearer, for: anna("free"), isShared: true).get()
        let (_, anna) = try client(before, made.token)
        try send(#"{"type":"write"}"#, to: slip, first, anna)
        time.advance(by: .seconds(3 * 24 * 3_600))
        try send(#"{"type":"put","items":1}"#, to: basket, first, anna)

        let (session, same) = try client(try table(definitions, kept, time: time), made.token)
        let events = try stream(session, same).read()
        #expect(events.map(\.name) == ["hello", "state", "label"])
        #expect(events.last?.id.flatMap { Cursor($0) }?.sequence == session.core.withLock { $0.head.number })
    }
}
