import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("The outbox")
struct OutboxTests {
    @Test("30: labels whose time is over do not push out one that is still owed")
    func expiredBehind() throws {
        let fixture = try Fixture { $0.outboxLabels = 3 }
        let slow = try fixture.stream("tally")
        _ = try slow.read()
        try fixture.send(#"{"type":"shout","text":"first"}"#)
        try fixture.send(#"{"type":"whisper","text":"soon gone"}"#)
        try fixture.send(#"{"type":"whisper","text":"as well"}"#)
        fixture.time.advance(by: .seconds(11))
        for text in ["second", "third"] { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        let late = try slow.read()
        #expect(late.names == ["label", "label", "label"])
        #expect(try late.said == ["first", "second", "third"])
        #expect(late.last?.id == "\(fixture.session.epoch).6")
        #expect(try fixture.stream("tally", from: .earliest).read().said == ["first", "second", "third"])
    }

    @Test("30: beyond what is past its time the oldest labels go, and the stream that was owed one of them is told")
    func expiredAndDropped() throws {
        let fixture = try Fixture { $0.outboxLabels = 3 }
        let slow = try fixture.stream("tally")
        _ = try slow.read()
        for text in ["1", "2"] { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        try fixture.send(#"{"type":"whisper","text":"soon gone"}"#)
        fixture.time.advance(by: .seconds(11))
        for text in ["3", "4"] { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        let late = try slow.read()
        #expect(late.names == ["reset", "label", "label", "label"])
        #expect(try late.said == ["2", "3", "4"])
    }

    @Test("the journal forgets labels whose time is over behind one that it keeps, and nothing else")
    func journal() throws {
        let kept = MemoryJournal()
        let journal = HeldJournal(kept)
        let fixture = try Fixture(journal: journal) { $0.outboxLabels = 3 }
        try fixture.send(#"{"type":"shout","text":"first"}"#)
        for _ in 0..<2 { try fixture.send(#"{"type":"whisper","text":"soon gone"}"#) }
        fixture.time.advance(by: .seconds(11))
        try fixture.send(#"{"type":"shout","text":"second"}"#)
        // The first append that could report it to the journal fails, so the next one does.
        journal.fail(.unavailable)
        #expect(try fixture.send(#"{"type":"add","amount":1}"#).refusal != nil)
        journal.fail(nil)
        #expect(try journal.keptLabels(of: fixture.session) == 4)
        try fixture.send(#"{"type":"add","amount":1}"#)
        #expect(try journal.keptLabels(of: fixture.session) == 2)
        let restarted = try Fixture(journal: kept).table.live(fixture.token)
        #expect(try restarted.opened(.all, from: .earliest).read().said == ["first", "second"])
    }

    @Test("labels that are past their time when the session is loaded are forgotten wherever they stand")
    func loaded() throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        try fixture.send(#"{"type":"shout","text":"first"}"#)
        try fixture.send(#"{"type":"whisper","text":"soon gone"}"#)
        try fixture.send(#"{"type":"shout","text":"second"}"#)
        let second = try Fixture(journal: journal) { $0.outboxLabels = 2 }
        second.time.advance(by: .seconds(11))
        let session = try second.table.live(fixture.token)
        let events = try session.opened(.all, from: .unspecified).read()
        #expect(try events.said == ["first", "second"])
        #expect(events.named("reset").isEmpty)
        #expect(try session.told(#"{"type":"add","amount":1}"#, to: fixture.tally) == "ran")
        #expect(try journal.keptLabels(of: session) == 2)
    }

    @Test("finds each label by its place, whichever went before", arguments: 0..<20)
    func places(seed: UInt64) throws {
        struct Known { var place: UInt64, number: UInt64, expiry: Int }
        var random = SplitMix(seed: seed)
        var (outbox, known, written, now) = (Outbox(from: seed), [Known](), Set<UInt64>(), 0)
        for number in 1...300 as ClosedRange<UInt64> {
            let expiry = now + Int(random.next() % 40)
            let label = StoredLabel(
                id: LabelID(number: number, index: 0), feature: FeatureID(name: "tally", key: nil), version: 1,
                intent: nil, json: [1], expiry: .zero)
            known.append(Known(place: outbox.endPlace, number: number, expiry: expiry))
            outbox.append(label, expiry: .seconds(expiry))
            now += Int(random.next() % 3)
            if random.next() % 20 == 0 {
                outbox.forgetExpired(now: .seconds(now))
                known.removeAll { $0.expiry <= now }
            }
            let dropped = outbox.trim(now: .seconds(now), maxCount: 12, maxBytes: .max)
            while let first = known.first, first.expiry <= now { known.removeFirst() }
            // Those behind the first may stay while there is room.
            if known.count > 12 { known.removeAll { $0.expiry <= now } }
            #expect(dropped.map(\.place) == known.prefix(max(0, known.count - 12)).map(\.place))
            known.removeFirst(max(0, known.count - 12))

            #expect(outbox.entries.map(\.place) == known.map(\.place))
            #expect(outbox.firstPlace == known.first?.place ?? outbox.endPlace)
            for place in seed..<outbox.endPlace + 2 {
                #expect(outbox.index(from: place) == known.firstIndex { $0.place >= place } ?? known.count)
                let isNews = known.contains { $0.place == place } && written.insert(place).inserted
                #expect((outbox.markWritten(place, to: nil) != nil) == isNews)
            }
            for after in [0, number / 2, number] {
                #expect(
                    outbox.firstPlace(after: after) == known.first { $0.number > after }?.place ?? outbox.endPlace)
            }
        }
    }
}
