import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@Suite("Sessions")
struct SessionTests {
    @Test("a token identifies its session, another one none, and they look different")
    func tokens() throws {
        let fixture = try Fixture()
        guard case .live(let found, _) = try fixture.table.found(fixture.token) else {
            Issue.record("the token names no session")
            return
        }
        #expect(found === fixture.session)
        let random = try #require(SessionToken(String(repeating: "A", count: 43)))
        guard case .unknown = try fixture.table.found(random) else {
            Issue.record("another token names a session")
            return
        }
        #expect(fixture.token.text.utf8.count == 73)
        #expect(SessionToken(fixture.token.text) == fixture.token)
        for text in [
            "", "x", fixture.token.text + String(repeating: "A", count: 173), String(repeating: "é", count: 43),
        ] {
            #expect(SessionToken(text) == nil)
        }
        let text = ArraySlice(fixture.token.text.utf8)
        #expect(fixture.token.isWritten(text) && fixture.token.kept == fixture.token)
        #expect(!fixture.token.isWritten(text.dropLast()) && !random.isWritten(text))
        for place in text.indices {
            var other = text
            other[place] ^= 1
            #expect(!fixture.token.isWritten(other))
        }
        let others = try (0..<1_000).map { _ in try fixture.table.new(.bearer).token.text }
        #expect(Set(others).count == 1_000)
    }

    @Test("a session expires after its lifetime, and every request renews it")
    func expiry() throws {
        let fixture = try Fixture { $0.sessionLife = .seconds(100) }
        fixture.time.advance(by: .seconds(60))
        _ = try fixture.table.found(fixture.token)
        fixture.time.advance(by: .seconds(60))
        fixture.table.sweep(part: 1)
        #expect(!fixture.session.isEnded)
        fixture.time.advance(by: .seconds(41))
        fixture.table.sweep(part: 1)
        #expect(fixture.session.isEnded)
        #expect(fixture.table.count == 0)
        guard case .ended = try fixture.table.found(fixture.token) else {
            Issue.record("an expired session leaves a tombstone")
            return
        }
        fixture.time.advance(by: .seconds(601))
        guard case .unknown = try fixture.table.found(fixture.token) else {
            Issue.record("a tombstone is forgotten after ten minutes")
            return
        }
    }

    @Test("an expired session is not found even before the sweep")
    func expiryBeforeSweep() throws {
        let fixture = try Fixture { $0.sessionLife = .seconds(100) }
        fixture.time.advance(by: .seconds(100))
        guard case .ended = try fixture.table.found(fixture.token) else {
            Issue.record("it has expired")
            return
        }
    }

    @Test("a session lives while a stream is open, and its lifetime restarts when that closes")
    func streamsKeepAlive() throws {
        let fixture = try Fixture { $0.sessionLife = .seconds(100) }
        let stream = try fixture.stream("tally")
        fixture.time.advance(by: .seconds(1_000))
        fixture.table.sweep(part: 1)
        #expect(!fixture.session.isEnded)
        #expect(fixture.session.expiresAt(for: nil) == .seconds(1_700_002_100))
        stream.stream.closed()
        fixture.time.advance(by: .seconds(99))
        fixture.table.sweep(part: 1)
        #expect(!fixture.session.isEnded)
        fixture.time.advance(by: .seconds(100))
        fixture.table.sweep(part: 1)
        #expect(fixture.session.isEnded)
    }

    @Test("ending a session tells its streams, cancels its work and answers its waits")
    func end() async throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        let answer = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"load"}"#.utf8), wait: .seconds(5)), to: fixture.tally
        ) { answer.set($0) }
        let poll = StateAnswer()
        fixture.session.state(of: fixture.tally, wait: .seconds(5), until: { _ in false }) { poll.set($0) }
        try fixture.table.ended(fixture.session)
        #expect(try await answer.wait().get().version == 1)
        let ended = try await poll.wait()
        expectError(.gone) { try ended.get() }
        let events = try stream.read()
        #expect(events.names == ["goaway"])
        #expect(try events[0].json.reason == "ended")
        #expect(try fixture.send(#"{"type":"nothing"}"#).refusal == "gone")
        expectError(.gone) { try fixture.stream("tally") }
        #expect(fixture.table.environment.openWaits == 0)
    }

    @Test("if all sessions in memory are in use there is no place for another until one is released")
    func sessionLimit() throws {
        let fixture = try Fixture { $0.sessions = 2 }
        let other = try fixture.table.made(.cookie)
        let streams = try [fixture.session, other.session].map { try $0.opened(.all, from: .now) }
        expectError(.tooManySessions) { try fixture.table.made(.bearer) }
        try fixture.table.ended(fixture.session)
        _ = try fixture.table.made(.bearer)
        withExtendedLifetime(streams) {}
    }

    @Test("a new session replaces an empty one, which is loaded when requested")
    func emptyOnesLeaveFirst() throws {
        let fixture = try Fixture { $0.sessions = 3 }
        try fixture.send(#"{"type":"add","amount":1}"#)
        let empty = try fixture.table.made(.bearer)
        // Used later than the session with the event, but it leaves memory first.
        fixture.time.advance(by: .seconds(1))
        let streamed = try fixture.table.made(.bearer)
        let stream = try streamed.session.opened(.all, from: .now)
        let new = try fixture.table.made(.bearer)
        #expect(fixture.table.count == 3)
        #expect(fixture.table.lookup(empty.token) == nil)
        #expect(fixture.table.lookup(fixture.token) != nil && fixture.table.lookup(new.token) != nil)
        let found = try fixture.table.live(empty.token)
        #expect(found.id == empty.session.id)
        withExtendedLifetime(stream) {}
    }

    @Test("if none is empty, the least recently used one leaves memory with its stores")
    func leastRecentlyUsedLeaves() throws {
        let fixture = try Fixture { $0.sessions = 2 }
        try fixture.send(#"{"type":"add","amount":1}"#)
        fixture.time.advance(by: .seconds(1))
        let other = try fixture.table.made(.bearer)
        let otherStream = try other.session.opened(.all, from: .now)
        _ = try fixture.table.made(.bearer)
        #expect(fixture.table.lookup(fixture.token) == nil)
        let found = try fixture.table.live(fixture.token)
        #expect(found !== fixture.session && found.hasStore(fixture.tally))
        withExtendedLifetime(otherStream) {}
    }

    @Test("a stored session gets a place although all in memory are in use")
    func loadsFindPlace() throws {
        let fixture = try Fixture { $0.sessions = 1 }
        try fixture.send(#"{"type":"add","amount":1}"#)
        let second = try fixture.table.made(.bearer)
        let stream = try second.session.opened(.all, from: .now)
        #expect(fixture.table.lookup(fixture.token) == nil)
        let found = try fixture.table.live(fixture.token)
        #expect(found.id == fixture.session.id && fixture.table.count == 2)
        // The limit applies again to new ones.
        let foundStream = try found.opened(.all, from: .now)
        expectError(.tooManySessions) { try fixture.table.made(.bearer) }
        withExtendedLifetime((stream, foundStream)) {}
    }

    /// Returns the sessions after the wall clock was set: some in memory, one of them with a stream, and one that is
    /// only stored.
    private func afterStep(
        by step: Duration
    ) throws -> (fixture: Fixture, kept: SessionToken, streamed: SessionToken, stream: TestStream) {
        let fixture = try Fixture { $0.sessions = 1 }
        let kept = fixture.token
        try fixture.send(#"{"type":"add","amount":1}"#)
        let second = try fixture.table.made(.bearer)
        let stream = try second.session.opened(.all, from: .now)
        #expect(fixture.table.lookup(kept) == nil)
        for _ in 0..<12 { fixture.table.sweep() }
        fixture.time.step(by: step)
        for _ in 0..<12 { fixture.table.sweep() }
        return (fixture, kept, second.token, stream)
    }

    @Test("setting the wall clock forward or back ends no session that was used within its lifetime")
    func clockStep() throws {
        for step in [2, -2] {
            let (fixture, kept, streamed, stream) = try afterStep(by: .seconds(step * 24 * 3600))
            #expect(try !stream.read().names.contains("goaway"))
            #expect(try fixture.table.live(streamed) === stream.stream.session)
            #expect(try fixture.table.live(kept).hasStore(fixture.tally))
        }
    }

    @Test("a session that was unused for its lifetime after a clock change expires")
    func lifeAfterStep() throws {
        let (fixture, kept, _, _) = try afterStep(by: .seconds(2 * 24 * 3600))
        fixture.time.advance(by: .seconds(26 * 3600))
        for _ in 0..<24 { fixture.table.sweep() }
        #expect(throws: SessionTable.NotLive.self) { try fixture.table.live(kept) }
    }

    @Test("ended sessions use limited memory")
    func churn() throws {
        let fixture = try Fixture { $0.sessions = 64 }
        for _ in 0..<5_000 {
            let made = try fixture.table.made(.bearer)
            try fixture.table.ended(made.session)
        }
        #expect(fixture.table.count == 1)
        #expect(fixture.table.traceCount < 2_000)
    }

    @Test("expired labels free their memory, even in an unused session")
    func sweptLabels() throws {
        let fixture = try Fixture()
        for text in ["a", "b"] { try fixture.send(#"{"type":"whisper","text":"\#(text)"}"#) }
        try fixture.send(#"{"type":"shout","text":"c"}"#)
        for _ in 0..<64 { fixture.table.sweep(part: 1) }
        #expect(fixture.table.labelCount == 3)
        fixture.time.advance(by: .seconds(11))
        for _ in 0..<64 { fixture.table.sweep(part: 1) }
        #expect(fixture.table.labelCount == 1)
        #expect(try fixture.stream("tally").read().said == ["c"])
    }

    @Test("a drain closes every stream after its pending labels, and answers every wait")
    func drain() async throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        let poll = StateAnswer()
        fixture.session.state(of: fixture.tally, wait: .seconds(5), until: { _ in false }) { poll.set($0) }
        fixture.table.drain()
        #expect(fixture.table.isDraining)
        #expect(try await poll.wait().get().version == 1)
        let events = try stream.read()
        #expect(events.names == ["label", "goaway"])
        #expect(try events[1].json.reason == "drain")
        #expect((1_000...5_000).contains(try #require(try events[1].json.retry)))
        #expect(stream.stream.nextStep() == .finish([]))
    }

    @Test("the cookie is due again after half of its lifetime")
    func cookie() throws {
        let fixture = try Fixture { $0.sessionLife = .seconds(100) }
        #expect(!fixture.session.cookieIsDue())
        fixture.time.advance(by: .seconds(50))
        #expect(fixture.session.cookieIsDue())
        #expect(!fixture.session.cookieIsDue())
    }

    @Test(
        "names that could forge an event are not feature ids",
        arguments: [
            "", ":", "a:", ":a", "A", "1a", "a b", "a\n", "a:b\r", "a:\u{0}", "a:b:c", "a/b", "ä", "a:ä",
            String(repeating: "a", count: 49), "a:" + String(repeating: "k", count: 65),
        ])
    func featureIDs(text: String) {
        #expect(FeatureID(text) == nil)
    }

    @Test("a feature id is a name and an optional key")
    func goodFeatureIDs() throws {
        let keyed = try #require(FeatureID("order-detail:A.b_c~1-2"))
        #expect(keyed.name == "order-detail")
        #expect(keyed.key == "A.b_c~1-2")
        #expect(FeatureID(String(repeating: "a", count: 48) + ":" + String(repeating: "k", count: 64)) != nil)
        #expect(FeatureID("counter")?.key == nil)
    }

    @Test("a key that would forge an event is returned escaped")
    func forgedKeys() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        let key = "x\r\nevent: forged\n\ndata: \u{0}\""
        #expect(try fixture.send(#"{"type":"add","amount":1}"#, key: key).refusal == nil)
        let events = try stream.read()
        #expect(events.names == ["state"])
        #expect(try events[0].json.intent == key)
    }

    @Test("10, 21: intents from many threads: every version once and in order on every stream, every label once")
    func concurrency() async throws {
        let fixture = try Fixture {
            $0.outboxLabels = 10_000; $0.outboxBytes = 10_000_000
        }
        let perThread = 300
        let results = try await withThrowingTaskGroup(of: [ParsedEvent].self) { group in
            let isDone = Gate()
            for _ in 0..<3 {
                let stream = try fixture.stream("tally")
                group.addTask {
                    var events: [ParsedEvent] = []
                    while !isDone.isOpen {
                        events += try stream.read()
                        await Task.yield()
                    }
                    return events + (try stream.read())
                }
            }
            await withTaskGroup(of: Void.self) { writers in
                for thread in 0..<4 {
                    writers.addTask {
                        for number in 0..<perThread {
                            let answer = Answer()
                            let body = #"{"type":"shoutMany","texts":["\#(thread)-\#(number)"]}"#
                            fixture.session.send(IntentRequest(body: Array(body.utf8)), to: fixture.tally) {
                                answer.set($0)
                            }
                            _ = try? await answer.wait()
                        }
                    }
                }
            }
            isDone.open()
            return try await group.reduce(into: [[ParsedEvent]]()) { $0.append($1) }
        }
        #expect(results.count == 3)
        for events in results {
            let versions = try events.named("state").compactMap { try $0.json.version }
            #expect(versions == versions.sorted() && Set(versions).count == versions.count)
            #expect(versions.last == UInt64(4 * perThread + 1))
            let said = try events.said
            #expect(said.count == 4 * perThread)
            for thread in 0..<4 {
                #expect(
                    said.filter { $0.hasPrefix("\(thread)-") } == (0..<perThread).map { "\(thread)-\($0)" })
            }
            let ids = events.compactMap { $0.id.flatMap { Cursor($0)?.sequence } }
            #expect(ids == ids.sorted())
        }
    }

    @Test("a store that another request disposes during its creation is disposed after it, in order")
    func disposedMeanwhile() throws {
        let session = Lock<Session?>(nil)
        let rival = try #require(FeatureID("rivalled"))
        let features = try FeatureRegistry([
            FeatureDefinition(Rivalled { session.withLock { $0.take() }?.removeStore(rival) { _ in } })
        ])
        let table = SessionTable(environment: SessionEnvironment(features: features))
        let (made, _) = try table.made(.bearer)
        session.withLock { $0 = made }
        let state = try made.stateNow(of: rival)
        #expect(session.withLock { $0 == nil })
        #expect(state.version == 1)
        #expect(made.existingState(of: rival) == nil)
    }
}

/// A feature with a concurrent event at its start.
private struct Rivalled: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case nothing }
    static let examples: [Intent] = [.nothing]
    let initialState = State()
    let meanwhile: @Sendable () -> Void

    init(_ meanwhile: @escaping @Sendable () -> Void) { self.meanwhile = meanwhile }

    func bootstrap(_ life: StartReason, _ turn: inout Turn<Self>) { meanwhile() }
    func reduce(_ state: inout State, _ intent: Intent) {}
}
