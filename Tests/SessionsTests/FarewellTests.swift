import EventStream
import Locking
import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("A stream that is closed by the server")
struct FarewellTests {
    private static let reasons: [GoAwayReason] = [.superseded, .drain, .rotate, .expired, .identity, .busy]

    private func say(_ text: String, _ fixture: Fixture) throws {
        try fixture.send(#"{"type":"shoutMany","texts":["\#(text)"]}"#)
    }

    /// Returns the output of a stream until its end, with an action before each step.
    private func end(
        _ stream: TestStream, within steps: Int = 20, beforeEachStep body: (Int) throws -> Void
    ) throws -> [ParsedEvent] {
        var (parser, events) = (EventParser(), [ParsedEvent]())
        for step in 0..<steps {
            try body(step)
            switch stream.stream.nextStep() {
            case .write(let bytes), .writeAll(let bytes): events += try parser.feed(bytes)
            case .finish(let bytes): return try events + parser.feed(bytes)
            case .wait: break
            }
        }
        Issue.record("it did not end")
        return events
    }

    @Test("69: writes the labels and states up to that point and ends, even if others follow", arguments: reasons)
    func lastPosition(reason: GoAwayReason) throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        try say("before", fixture)
        stream.stream.goAway(reason)
        let events = try end(stream) { step in
            try say("\(step)", fixture)
            try fixture.send(#"{"type":"rename","to":"\#(step)"}"#, to: FeatureID(name: "keyed", key: "a"))
        }
        #expect(events.names == ["state", "label", "goaway"])
        #expect(try events.said == ["before"])
        #expect(events.compactMap(\.id) == ["\(fixture.session.epoch).2"])
        #expect(try events.last?.json.reason == reason.rawValue)
        stream.stream.closed()
        // The next stream gets the events that this one did not write.
        let next = try fixture.stream("tally", from: .cursor("\(fixture.session.epoch).2")).read()
        #expect(try next.said.first == "0")
    }

    @Test("69: ends also when superseded, drained or expired", arguments: ["superseded", "drain", "expired"])
    func told(reason: String) throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        try fixture.send(#"{"type":"shout","text":"before"}"#)
        switch reason {
        case "superseded": for _ in 0..<4 { _ = try fixture.stream("tally") }
        case "drain": fixture.session.drain()
        default: fixture.session.end(.expired)
        }
        let events = try end(stream) { try say("\($0)", fixture) }
        #expect(events.names == ["label", "goaway"])
        #expect(try events.said == ["before"])
        #expect(try events.last?.json.reason == reason)
    }

    @Test("69: leaves labels of unshown states to the next stream if their store is disposed")
    func disposed() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        try say("before", fixture)
        stream.stream.goAway(.rotate)
        #expect(try fixture.session.removed(fixture.tally))
        #expect(try stream.read().names == ["goaway"])
        stream.stream.closed()
        #expect(try fixture.stream("tally").read().said == ["before"])
    }

    @Test("69: with nothing more to write is not woken by later events")
    func sleeps() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        stream.stream.goAway(.rotate)
        let before = stream.wakeCount
        for text in ["a", "b"] { try say(text, fixture) }
        #expect(stream.wakeCount == before)
        #expect(try stream.read().names == ["goaway"])
    }

    @Test("69: has half a minute for that, then ends without the rest")
    func deadline() throws {
        let fixture = try Fixture { $0.outboxBytes = 1 << 20 }
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        let text = String(repeating: "x", count: 40_000)
        for _ in 0..<8 { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        stream.stream.goAway(.drain)
        #expect(try #require(try stream.readBatch()).names == ["label", "label"])
        fixture.time.advance(by: .seconds(29))
        #expect(try #require(try stream.readBatch()).names == ["label", "label"])
        fixture.time.advance(by: .seconds(1))
        let rest = try stream.read()
        #expect(rest.names == ["goaway"])
        #expect(try rest.last?.json.reason == "drain")
    }

    @Test("69: is told of a dropped label that it should have sent, and of no later one")
    func lost() throws {
        let fixture = try Fixture { $0.outboxLabels = 3 }
        let (owed, done) = (try fixture.stream("tally"), try fixture.stream("tally"))
        for stream in [owed, done] { _ = try stream.read() }
        try fixture.send(#"{"type":"shout","text":"1"}"#)
        _ = try done.read()
        for stream in [owed, done] { stream.stream.goAway(.drain) }
        for text in 2...9 { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        #expect(try owed.read().names == ["reset", "goaway"])
        #expect(try done.read().names == ["goaway"])
    }

    @Test("69: writes nothing more if its client loses its access")
    func cut() async throws {
        let fixture = try ProductFixture()
        let principal = Principal(issuer: "i", subject: "anna")
        let (made, session) = try await fixture.table.create(.bearer, for: principal, isShared: true).get()
        guard case .live(_, let credential?) = try fixture.table.found(made.token) else { return #expect(Bool(false)) }
        let opened = Box<Result<SessionStream, StoreError>>()
        session.openStream(.all, from: .now, for: SessionClient(credential)) { opened.set($0) }
        let stream = TestStream(try #require(opened.value).get())
        _ = try stream.read()
        let sent = Answer()
        session.send(
            IntentRequest(body: Array(#"{"type":"who"}"#.utf8), client: SessionClient(credential)), to: fixture.till
        ) { sent.set($0) }
        #expect(sent.value?.code == nil)
        stream.stream.goAway(.rotate)
        await withCheckedContinuation { done in
            fixture.table.end(session, SessionClient(credential), everywhere: false) { _ in done.resume() }
        }
        let events = try stream.read()
        #expect(events.names == ["goaway"])
        #expect(try events.last?.json.reason == "ended")
    }

    @Test("an unread stream is closed if very many of its stores are disposed")
    func manyEnds() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream()
        _ = try stream.read()
        for number in 0..<300 {
            let feature = FeatureID(name: "keyed", key: "k\(number)")
            try fixture.send(#"{"type":"rename","to":"a"}"#, to: feature)
            #expect(try fixture.session.removed(feature))
        }
        let events = try stream.read()
        #expect(events.named("end").count == 257)
        #expect(try events.last?.json.reason == "busy")
    }
}
