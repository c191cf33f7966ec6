import Locking
import Testing

@testable import Sessions

@Suite("Streams of one session at the same position")
struct SharedStepTests {
    @Test("get the same events once each, in any order of reads")
    func same() throws {
        let fixture = try Fixture()
        let streams = try (0..<3).map { _ in try fixture.stream("tally") }
        for stream in streams { _ = try stream.read() }
        for number in 1...6 {
            try fixture.send(#"{"type":"shoutMany","texts":["\#(number)"]}"#)
            if number == 3 { try fixture.send(#"{"type":"add","amount":10}"#) }
            let told = try (0..<3).map { try streams[($0 + number) % 3].read() }
            #expect(told[0].names == ["state", "label"])
            #expect(told[1] == told[0])
            #expect(told[2] == told[0])
        }
        for stream in streams { #expect(try stream.read().isEmpty) }
    }

    @Test("with other features get their events")
    func filters() throws {
        let fixture = try Fixture()
        let all = try fixture.stream()
        let tally = try fixture.stream("tally")
        let keyed = try fixture.stream("keyed:1")
        for stream in [all, tally, keyed] { _ = try stream.read() }
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        #expect(try keyed.read().isEmpty)
        #expect(try tally.read().said == ["a"])
        #expect(try all.read().said == ["a"])
    }

    @Test("mark replays individually")
    func replays() throws {
        let fixture = try Fixture()
        let first = try fixture.stream("tally")
        let start = try #require(try first.read().last?.id)
        first.stream.closed()
        // More than fits into one step, so that the last ones come alone.
        let text = String(repeating: "x", count: 4000)
        for _ in 1...40 { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        let new = try fixture.stream("tally")
        let resumed = try fixture.stream("tally", from: .cursor(start))
        func replays(_ stream: TestStream) throws -> [Bool?] {
            try stream.read().filter { $0.name == "label" }.map { try $0.json.replay }
        }
        #expect(try replays(new) == Array(repeating: false, count: 40))
        #expect(try replays(resumed) == Array(repeating: true, count: 40))
    }

    @Test("do not get a label after it has expired")
    func expiry() throws {
        let fixture = try Fixture()
        let (early, late) = (try fixture.stream("tally"), try fixture.stream("tally"))
        for stream in [early, late] { _ = try stream.read() }
        try fixture.send(#"{"type":"whisper","text":"soon gone"}"#)
        #expect(try early.read().said == ["soon gone"])
        fixture.time.advance(by: .seconds(11))
        #expect(try late.read().said.isEmpty)
    }

    @Test("share one buffer of their events")
    func oneBuffer() throws {
        let fixture = try Fixture()
        let streams = try (0..<2).map { _ in try fixture.stream("tally") }
        for stream in streams { _ = try stream.read() }
        #expect(fixture.session.core.withLock { $0.streams.lastStep } == nil)
        try fixture.send(#"{"type":"add","amount":1}"#)
        let told = streams.map { $0.stream.nextStep() }
        let shared = try #require(fixture.session.core.withLock { $0.streams.lastStep })
        #expect(told == [.writeAll(shared.bytes), .writeAll(shared.bytes)])
        try fixture.send(#"{"type":"add","amount":1}"#)
        #expect(fixture.session.core.withLock { $0.streams.lastStep } == nil, "it is not kept beyond the next turn")
    }
}

@Suite("A list that usually has one element")
struct ShortListTests {
    @Test("behaves as an array does")
    func asArray() {
        for count in 0...5 {
            for gone in 0...count {
                var list: ShortList<Int> = []
                for element in 0..<count { list.append(element) }
                #expect(Array(list) == Array(0..<count))
                list.removeFirst(gone)
                #expect(Array(list) == Array(gone..<count))
                list.append(count)
                list.removeAll { $0.isMultiple(of: 2) }
                #expect(Array(list) == (gone...count).filter { !$0.isMultiple(of: 2) })
            }
        }
    }
}

@Suite("A session with many streams")
struct ManyStreamsTests {
    @Test("finds each by its number after any removals")
    func found() throws {
        let fixture = try Fixture { $0.streamsPerSession = 100 }
        var streams = try (0..<60).map { _ in try fixture.stream("tally") }
        for stream in streams { _ = try stream.read() }
        for gone in stride(from: 57, through: 0, by: -3) { streams.remove(at: gone).stream.closed() }
        try fixture.send(#"{"type":"add","amount":1}"#)
        for stream in streams.shuffled() {
            #expect(try stream.read().counts == [1])
            #expect(stream.wakeCount == 1)
        }
        fixture.session.core.withLock { core in
            #expect(core.streams.all.map(\.number) == core.streams.all.map(\.number).sorted())
            #expect(core.streams.index(of: 0) == nil)
            #expect(core.streams.index(of: .max) == nil)
            for (index, number) in core.streams.all.map(\.number).enumerated() {
                #expect(core.streams.index(of: number) == index)
            }
        }
    }
}
