import EventStream
import MVI
import SessionJournal
import Sessions
import Testing

@Suite("Streams")
struct StreamTests {
    @Test("hello is first, then the whole state, whose id is the cursor in hello")
    func opening() throws {
        let fixture = try Fixture()
        let events = try fixture.stream("tally").read()
        #expect(events.names == ["hello", "state"])
        let hello = try events[0].json
        #expect(hello.session == fixture.session.id)
        #expect(hello.epoch == fixture.session.epoch)
        #expect(hello.resumed == false)
        #expect(hello.features == ["tally"])
        #expect(hello.heartbeat == 20)
        #expect(events[0].id == hello.cursor)
        #expect(events[1].id == hello.cursor)
        let state = try events[1].json
        #expect(state.feature == "tally")
        #expect(state.version == 1)
        #expect(state.intent == nil)
        #expect(state.state == EventData.State(count: 0, note: "", isWatched: false))
    }

    @Test("an intent's state comes without id before its labels, the last of which carries the turn's cursor")
    func turn() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        let reply = try fixture.send(#"{"type":"shoutMany","texts":["a","b"]}"#).get()
        let events = try stream.read()
        #expect(events.names == ["state", "label", "label"])
        #expect(events.map { $0.id == nil } == [true, true, false])
        #expect(events[2].id == "\(fixture.session.epoch).2")
        #expect(try events.map { try $0.json.intent } == Array(repeating: reply.id.text, count: 3))
        #expect(try events.map { try $0.json.version } == [2, 2, 2])
        #expect(
            try events.dropFirst().map { try $0.json.id } == [
                "\(fixture.session.epoch).2.0", "\(fixture.session.epoch).2.1",
            ])
        #expect(try events.dropFirst().allSatisfy { try $0.json.replay == false })
    }

    @Test("37: states conflate, labels queue: a slow client skips states and misses no label")
    func conflation() throws {
        let fixture = try Fixture()
        let slow = try fixture.stream("tally")
        let quick = try fixture.stream("tally")
        _ = try slow.read()
        var seen: [Int] = []
        for number in 1...50 {
            try fixture.send(#"{"type":"shoutMany","texts":["\#(number)"]}"#)
            seen += try quick.read().counts
        }
        #expect(seen == Array(1...50))
        let late = try slow.read()
        #expect(try late.counts == [50])
        #expect(try late.said == (1...50).map(String.init))
        #expect(late.last?.id == "\(fixture.session.epoch).51")
        let ids = late.compactMap(\.id)
        #expect(ids.count == 50, "the last label of each turn carries its cursor")
    }

    @Test("a turn without change sends nothing and takes no version; its labels go out")
    func unchanged() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        #expect(try fixture.send(#"{"type":"nothing"}"#).get().version == 1)
        #expect(try stream.read().isEmpty)
        #expect(try fixture.send(#"{"type":"shout","text":"a"}"#).get().version == 1)
        #expect(try stream.read().names == ["label"])
    }

    @Test("a known cursor resumes after it, with replays marked, and still shows the whole state")
    func resume() throws {
        let fixture = try Fixture()
        let first = try fixture.stream("tally")
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        let cursor = try #require(try first.read().last?.id)
        first.stream.closed()
        try fixture.send(#"{"type":"shout","text":"b"}"#)
        try fixture.send(#"{"type":"shout","text":"c"}"#)

        let second = try fixture.stream("tally", from: .cursor(cursor))
        let events = try second.read()
        #expect(events.names == ["hello", "state", "label", "label"])
        #expect(try events[0].json.resumed == true)
        #expect(try events[0].json.cursor == cursor)
        #expect(try events.said == ["b", "c"])
        #expect(try events.named("label").allSatisfy { try $0.json.replay == true })
        try fixture.send(#"{"type":"shout","text":"d"}"#)
        let later = try second.read()
        #expect(try later.said == ["d"])
        #expect(try later[0].json.replay == false)
    }

    @Test("27: without a stream the label waits for the next one that shows the feature, once")
    func undelivered() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        let other = try fixture.stream("keyed:1")
        #expect(try other.read().said.isEmpty)
        let first = try fixture.stream("tally")
        let events = try first.read()
        #expect(try events.said == ["a"])
        #expect(try events.named("label")[0].json.replay == false)
        #expect(try fixture.stream("tally").read().said.isEmpty, "it was written to a stream")
        #expect(try fixture.stream("tally", from: .earliest).read().said == ["a"])
        #expect(try fixture.stream("tally", from: .now).read().said.isEmpty)
    }

    @Test("a label counts as written when the socket has written it, not when it was read")
    func writtenWhenTaken() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        let broken = try fixture.stream("tally")
        #expect(try broken.readBatch()?.said == ["a"])
        broken.stream.closed()
        #expect(try fixture.stream("tally").read().said == ["a"])
        #expect(try fixture.stream("tally").read().said.isEmpty)
    }

    @Test(
        "an unknown, foreign, malformed or future cursor is answered with a reset, then like none",
        arguments: ["x", "aaaaaaaaaaaaa.1", "§", "{epoch}.99", "{epoch}.-1", "{epoch}.", "{epoch}.01"])
    func unknownCursor(text: String) throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        _ = try fixture.stream("tally").read()
        try fixture.send(#"{"type":"shout","text":"b"}"#)
        let cursor = text.replacing("{epoch}", with: fixture.session.epoch)
        // The second was not written to the stream above, since that was not read.
        let events = try fixture.stream("tally", from: .cursor(cursor)).read()
        #expect(events.names == ["hello", "reset", "state", "label"])
        #expect(try events[0].json.resumed == false)
        let reset = try events[1].json
        #expect(reset.reason == "unknown-cursor")
        #expect(reset.labelsLost == true)
        #expect(events[1].id == nil)
        #expect(try events.said == ["b"])
    }

    @Test("30: a full outbox drops the oldest, and only the stream that missed it gets a reset")
    func overflow() throws {
        let fixture = try Fixture { $0.outboxLabels = 3 }
        let slow = try fixture.stream("tally")
        let quick = try fixture.stream("tally")
        let start = try #require(try slow.read().last?.id)
        _ = try quick.read()
        var heard: [String] = []
        for number in 1...5 {
            try fixture.send(#"{"type":"shout","text":"\#(number)"}"#)
            let events = try quick.read()
            #expect(events.names == ["label"])
            heard += try events.said
        }
        #expect(heard == ["1", "2", "3", "4", "5"])
        let late = try slow.read()
        #expect(late.names == ["reset", "label", "label", "label"])
        #expect(try late[0].json.reason == "overflow")
        #expect(try late[0].json.labelsLost == true)
        #expect(try late.said == ["3", "4", "5"])

        let resumed = try fixture.stream("tally", from: .cursor(start)).read()
        #expect(resumed.names.prefix(2) == ["hello", "reset"])
        #expect(try resumed[1].json.reason == "expired")
    }

    @Test("30: labels that were dropped without any stream cause a reset on the first stream")
    func unheard() throws {
        let fixture = try Fixture { $0.outboxLabels = 3 }
        for number in 1...5 { try fixture.send(#"{"type":"shout","text":"\#(number)"}"#) }
        // A client that asks for no earlier events misses none, and does not report any.
        #expect(try fixture.stream("tally", from: .now).read().names == ["hello", "state"])
        let first = try fixture.stream("tally").read()
        #expect(first.names == ["hello", "reset", "state", "label", "label", "label"])
        #expect(try first[1].json.reason == "overflow")
        #expect(try first[1].json.labelsLost == true)
        #expect(try first.said == ["3", "4", "5"])
        #expect(try fixture.stream("tally").read().names.contains("reset") == false)
    }

    @Test("an outbox is limited in bytes too")
    func overflowInBytes() throws {
        let fixture = try Fixture { $0.outboxBytes = 4_096 }
        let text = String(repeating: "x", count: 1_000)
        for _ in 0..<50 { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        let kept = try fixture.stream("tally", from: .earliest).read().said
        #expect(kept.count == 3)
    }

    @Test("an expired label does not count as lost")
    func timeToLive() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        let start = try #require(try stream.read().last?.id)
        try fixture.send(#"{"type":"whisper","text":"soon gone"}"#)
        try fixture.send(#"{"type":"shout","text":"stays"}"#)
        fixture.time.advance(by: .seconds(11))
        #expect(try stream.read().said == ["stays"])
        let resumed = try fixture.stream("tally", from: .cursor(start)).read()
        #expect(resumed.names == ["hello", "state", "label"])
        #expect(try resumed.said == ["stays"])
    }

    @Test("one stream beyond the limit closes the oldest with a minute's retry")
    func superseded() throws {
        let fixture = try Fixture()
        let streams = try (0..<5).map { _ in try fixture.stream("tally") }
        let farewell = try #require(try streams[0].read().last)
        #expect(farewell.name == "goaway")
        #expect(try farewell.json.reason == "superseded")
        #expect(try farewell.json.retry == 60_000)
        #expect(streams[0].wakeCount > 0)
        #expect(streams[0].stream.nextStep() == .finish([]))
        for stream in streams.dropFirst() { #expect(try stream.read().names == ["hello", "state"]) }
        streams[0].stream.closed()
        #expect(fixture.session.streamCount == 4)
    }

    @Test("labels that a stream wrote before its goaway count as written")
    func writtenBeforeFarewell() throws {
        let fixture = try Fixture()
        let old = try fixture.stream("tally")
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        old.stream.goAway(.superseded)
        #expect(try old.read().names == ["hello", "state", "label", "goaway"])
        old.stream.closed()
        #expect(try fixture.stream("tally").read().said.isEmpty)
    }

    @Test("many large states take several steps; labels and the cursor for all of it come with the last")
    func largeStates() throws {
        let fixture = try Fixture()
        let large = String(repeating: "x", count: 40_000)
        for key in 1...5 { try fixture.send(#"{"type":"rename","to":"\#(large)"}"#, to: FeatureID("keyed:\(key)")) }
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        let stream = try fixture.stream()
        var batches: [[ParsedEvent]] = []
        while let batch = try stream.readBatch() { batches.append(batch) }
        #expect(
            batches.map(\.names) == [
                ["hello", "state", "state"], ["state", "state"], ["state", "state", "label"],
            ])
        #expect(
            batches.flatMap { $0 }.dropFirst().map { $0.id != nil } == [false, false, false, false, false, false, true])
    }

    @Test("closed but unread streams take at most a few times the limit of places")
    func crowd() throws {
        let fixture = try Fixture()
        let streams = try (0..<16).map { _ in try fixture.stream("tally") }
        expectError(.tooManyStreams) { try fixture.stream("tally") }
        #expect(fixture.table.environment.openStreams == 16)
        streams[0].stream.closed()
        _ = try fixture.stream("tally")
    }

    @Test("too many streams in all are refused and take no place")
    func busy() throws {
        let fixture = try Fixture { $0.streams = 2 }
        let first = try fixture.stream("tally")
        _ = try fixture.stream("tally")
        expectError(.tooManyStreams) { try fixture.stream("tally") }
        first.stream.closed()
        first.stream.closed()
        _ = try fixture.stream("tally")
        expectError(.tooManyStreams) { try fixture.stream("tally") }
        #expect(fixture.table.environment.openStreams == 2)
    }

    @Test("a stream of all features shows stores that the session creates later")
    func everything() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream()
        #expect(try stream.read().names == ["hello"])
        try fixture.send(#"{"type":"add","amount":2}"#)
        try fixture.send(#"{"type":"rename","to":"b"}"#, to: FeatureID("keyed:7"))
        let events = try stream.read()
        #expect(try events.map { try $0.json.feature } == ["tally", "keyed:7"])
        #expect(events.map { $0.id == nil } == [true, false])
        #expect(events[1].id == "\(fixture.session.epoch).4")
    }

    @Test("a stream of several features shows the labels of those alone")
    func several() throws {
        let fixture = try Fixture()
        let both = try fixture.stream("tally", "keyed:1")
        let one = try fixture.stream("keyed:1")
        #expect(try both.read().names == ["hello", "state", "state"])
        _ = try one.read()
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        #expect(try both.read().said == ["a"])
        #expect(try one.read().isEmpty)
    }

    @Test("a disposed store ends on its streams, and a new one continues at higher versions")
    func disposal() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        for _ in 0..<3 { try fixture.send(#"{"type":"add","amount":1}"#) }
        #expect(try fixture.session.removed(fixture.tally))
        #expect(try !fixture.session.removed(fixture.tally))
        let end = try stream.read()
        #expect(end.names == ["end"])
        #expect(try end[0].json.feature == "tally")
        try fixture.send(#"{"type":"add","amount":7}"#)
        let anew = try stream.read()
        #expect(try anew.counts == [7])
        // Created, added to three times, disposed, created again, added to.
        #expect(try anew[0].json.version == 7)
    }

    @Test("ids never go back, whatever happens on a stream")
    func idsGrow() throws {
        let fixture = try Fixture { $0.outboxLabels = 4 }
        let stream = try fixture.stream()
        var ids: [UInt64] = []
        var random = SplitMix(seed: 7)
        for _ in 0..<500 {
            switch random.next() % 6 {
            case 0: try fixture.send(#"{"type":"add","amount":1}"#)
            case 1: try fixture.send(#"{"type":"shoutMany","texts":["a","b"]}"#)
            case 2: try fixture.send(#"{"type":"whisper","text":"a"}"#)
            case 3: try fixture.send(#"{"type":"rename","to":"x"}"#, to: FeatureID("keyed:\(random.next() % 5)"))
            case 4: _ = try fixture.session.removed(fixture.tally)
            default: ids += try stream.read().compactMap { $0.id.flatMap { Cursor($0)?.sequence } }
            }
        }
        #expect(ids.count > 20)
        #expect(ids == ids.sorted())
    }

    @Test("39: work that runs while watched starts with the first stream and stops a grace period after the last")
    func watching() async throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"watch"}"#)
        #expect(try fixture.session.stateNow(of: fixture.tally).version == 1)
        let stream = try fixture.stream("tally")
        await fixture.clock.sleepers(atLeast: 1)
        #expect(try stream.read().named("state").last?.json.state?.isWatched == true)
        stream.stream.closed()
        await fixture.clock.sleepers(atLeast: 2)
        fixture.clock.advance(by: .seconds(5))
        // The work slept for days; the end of its sleep shows that it was canceled.
        while fixture.clock.sleeperCount > 0 { await Task.yield() }
    }

    @Test("the heartbeat shows the time in milliseconds and has no id")
    func heartbeat() throws {
        let fixture = try Fixture()
        var parser = EventParser()
        let events = try parser.feed(try fixture.stream("tally").stream.ping())
        #expect(events.names == ["ping"])
        #expect(events[0].id == nil)
        #expect(try events[0].json.t == 1_700_001_000_000)
    }
}

/// A small random generator with a sequence that the seed determines.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
