import Locking
import MVI
import MVITesting
import Networks
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Observers and memory of ended sessions")
struct SessionEndTests {
    @Test("61: an end is reported once, when it is committed")
    func toldWhenKept() throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        let ended = Collected<String>()
        fixture.table.environment.onEnd { ended.append($0.id) }
        try fixture.send(#"{"type":"add","amount":1}"#)
        journal.fail(.unavailable)
        fixture.session.giveWay()
        #expect(ended.all.isEmpty)
        // It is closed already.
        let refused = fixture.session.send(#"{"type":"add","amount":1}"#, to: fixture.tally)
        #expect(throws: StoreError.self) { try #require(refused.value).get() }
        fixture.table.sweep(part: 1)
        #expect(ended.all.isEmpty)
        journal.fail(nil)
        for _ in 0..<2 { fixture.table.sweep(part: 1) }
        #expect(ended.all == [fixture.session.id])
        #expect(try fixture.table.isEnded(fixture.token))
    }

    @Test("61: ending a session by a token fails if the journal cannot find its session")
    func notFound() async throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        try fixture.send(#"{"type":"add","amount":1}"#)
        fixture.session.leave()
        journal.failLoads(.unavailable)
        await #expect(throws: StoreError.self) { try await fixture.table.end(fixture.token.hash) }
        journal.failLoads(nil)
        #expect(try !fixture.table.isEnded(fixture.token))
        try await fixture.table.end(fixture.token.hash)
        #expect(try fixture.table.isEnded(fixture.token))
    }

    @Test("61: a session that only leaves memory is not reported as ended")
    func leaves() throws {
        let fixture = try Fixture()
        let ended = Collected<String>()
        fixture.table.environment.onEnd { ended.append($0.id) }
        fixture.session.leave()
        #expect(ended.all.isEmpty)
    }

    @Test("expired receipts leave memory without a request, and the journal with the next turn")
    func receipts() throws {
        let journal = MemoryJournal()
        let fixture = try Fixture(journal: journal) { $0.receiptLife = .seconds(60) }
        for name in ["a", "b"] { try fixture.send(#"{"type":"add","amount":1}"#, key: name) }
        #expect(fixture.session.core.withLock { $0.receipts.count } == 2)
        fixture.time.advance(by: .seconds(61))
        fixture.table.sweep(part: 1)
        #expect(fixture.session.core.withLock { $0.receipts.count } == 0)
        try fixture.send(#"{"type":"add","amount":1}"#)
        let found = Box<Result<SessionExport?, StoreError>>()
        journal.export(fixture.session.id) { found.set($0) }
        #expect(try #require(found.value).get()?.session.receipts.isEmpty == true)
    }

    enum End: CaseIterable { case ofSession, ofMemory, ofTable }

    /// Its places hold what gives them up.
    @Test("a session and its stream are released with their places", arguments: End.allCases)
    func released(end: End) throws {
        weak var session: Session?
        weak var stream: SessionStream?
        let places = NetworkPlaces(8)
        do {
            let fixture = try Fixture { $0.passivateAfter = .seconds(60) }
            session = fixture.session
            fixture.session.noteOrigin(PeerAddress(v4: 1))
            let place = try places.take(for: PeerAddress(v4: 1))
            let opened = Box<Result<SessionStream, StoreError>>()
            fixture.session.openStream(.all, from: .now, holding: place) { opened.set($0) }
            let shown = try #require(opened.value).get()
            stream = shown
            place.onGiveWay { shown.goAway(.busy) }
            try fixture.send(#"{"type":"add","amount":1}"#)
            #expect(fixture.session.core.withLock { $0.keptPlace != nil })
            if end == .ofSession { try fixture.table.ended(fixture.session) }
            shown.closed()
            #expect(places.taken == 1)
            if end == .ofMemory { fixture.session.leave() }
            // A store in memory holds its session.
            fixture.time.advance(by: .seconds(61))
            fixture.table.sweep(part: 1)
        }
        #expect(session == nil && stream == nil)
        #expect(places.taken == 0)
    }

    /// Many short sessions, each with a stream, receipts, a store and a reminder.
    @Test("a table's memory does not grow with the sessions that it served")
    func soak() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let fixture = try ProductFixture(kept: kept, time: time) { limits in
            (limits.sessionLife, limits.credentialLife) = (.seconds(600), .seconds(600))
            limits.sessions = 1_000
        }
        let table = fixture.table
        for round in 0..<40 {
            for number in 0..<25 {
                let (session, token) = try table.made(.bearer)
                let stream = try session.opened(.all, from: .now)
                _ = try stream.read()
                for key in ["a", "b"] {
                    let answer = Answer()
                    session.send(
                        IntentRequest(body: Array(#"{"type":"ring","after":1}"#.utf8), name: .key(key)),
                        to: fixture.till
                    ) { answer.set($0) }
                    _ = try #require(answer.value).get()
                }
                _ = try stream.read()
                stream.stream.closed()
                if number % 3 == 0 { try table.ended(session) }
                if number % 3 == 1 {
                    _ = await table.identify(
                        session, token, nil,
                        as: Principal(issuer: "i", subject: "user \(round) \(number)", claims: [:]),
                        proof: ProofHash.of("a"))
                }
            }
            time.advance(by: .seconds(120))
            _ = await table.fireDueReminders()
            table.sweep(part: 1)
        }
        for _ in 0..<4 {
            time.advance(by: .seconds(600))
            table.sweep(part: 1)
        }
        #expect(table.count == 0 && table.traceCount == 0)
        #expect(table.environment.openStreams == 0 && table.environment.openWaits == 0)
        for shard in table.shards {
            shard.withLock { shard in
                #expect(shard.sessions.count == 0 && shard.credentials.isEmpty && shard.loading.isEmpty)
            }
        }
        #expect(!table.environment.reminderClock.isFiring)
        let alarms = Box<Result<[Alarm], StoreError>>()
        kept.alarms(after: nil, limit: 10) { alarms.set($0) }
        #expect(try #require(alarms.value).get().isEmpty)
        let sessions = Box<Result<[SessionOverview], StoreError>>()
        kept.list(of: nil, before: nil, limit: 10) { sessions.set($0) }
        #expect(try #require(sessions.value).get().isEmpty)
    }

    @Test("sessions are found by their tokens, whatever came and went before them")
    func byToken() throws {
        let table = try Fixture().table
        let all = try (0..<200).map { _ in try table.made(.bearer).session }
        var (sessions, expected) = (SessionsByToken(), [TokenHash: Session]())
        var random = SplitMix(seed: 1)
        for round in 0..<4_000 {
            let session = all[Int.random(in: 0...round % 200, using: &random)]
            let change = Bool.random(using: &random) ? session : nil
            (sessions[session.tokenHash], expected[session.tokenHash]) = (change, change)
            let isFound = all.allSatisfy { sessions[$0.tokenHash] === expected[$0.tokenHash] }
            try #require(isFound && sessions.count == expected.count, "wrong in round \(round)")
        }
        for session in all { sessions[session.tokenHash] = nil }
        #expect(sessions.all.isEmpty && sessions.count == 0)
    }
}
