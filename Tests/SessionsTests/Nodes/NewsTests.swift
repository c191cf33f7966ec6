import EventStream
import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("A commit of one node")
struct NewsTests {
    /// Two nodes with one session.
    private struct Nodes {
        let cluster = NodeJournal.Cluster()
        let here: Fixture
        let there: Fixture
        /// The session of `here` on the other node.
        let session: Session

        init(_ change: (inout SessionLimits) -> Void = { _ in }) throws {
            let kept = MemoryJournal()
            here = try Fixture(journal: NodeJournal(kept, cluster), change)
            there = try Fixture(journal: NodeJournal(kept, cluster), change)
            for node in [here, there] { node.table.listen() }
            session = try there.table.live(here.token)
        }

        func stream() throws -> TestStream {
            try session.opened(.features([here.tally]), from: .unspecified)
        }
    }

    @Test("is shown by the streams of the others at once, labels and all, with the same ids")
    func news() throws {
        let nodes = try Nodes()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let (here, there) = (try nodes.here.stream("tally"), try nodes.stream())
        for stream in [here, there] { _ = try stream.read() }
        for number in 1...5 {
            let wakes = there.wakeCount
            try nodes.here.send(#"{"type":"shoutMany","texts":["\#(number)"]}"#)
            #expect(there.wakeCount > wakes)
            let (shown, told) = (try here.read(), try there.read())
            #expect(shown.names == ["state", "label"])
            #expect(told == shown)
        }
    }

    @Test("is shown if the session was empty when the stream was opened")
    func firstTurn() throws {
        let nodes = try Nodes()
        let here = try nodes.here.stream()
        let there = try nodes.session.opened(.all, from: .unspecified)
        for stream in [here, there] { #expect(try stream.read().names == ["hello"]) }
        try nodes.here.send(#"{"type":"add","amount":7}"#)
        #expect(try here.read().counts == [7])
        #expect(try there.read().counts == [7])
    }

    @Test("is shown after the next comparison if its notification was lost")
    func lostNews() throws {
        let nodes = try Nodes()
        let there = try nodes.stream()
        _ = try there.read()
        nodes.cluster.lose(true)
        try nodes.here.send(#"{"type":"shoutMany","texts":["a","b"]}"#)
        #expect(try there.read().isEmpty)
        nodes.there.table.compareMarks()
        #expect(try there.read().said == ["a", "b"])
        nodes.there.table.compareMarks()
        #expect(try there.read().isEmpty)
    }

    @Test("is shown when notifications resume after an interruption")
    func interrupted() throws {
        let nodes = try Nodes()
        let there = try nodes.stream()
        _ = try there.read()
        nodes.cluster.lose(true)
        try nodes.here.send(#"{"type":"add","amount":2}"#)
        nodes.cluster.lose(false)
        nodes.cluster.interrupt()
        #expect(try there.read().counts == [2])
    }

    @Test("ends the streams of the others if it ended the session", arguments: [true, false])
    func ended(isHeard: Bool) throws {
        let nodes = try Nodes()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let there = try nodes.stream()
        _ = try there.read()
        nodes.cluster.lose(!isHeard)
        try nodes.here.table.ended(nodes.here.session)
        if !isHeard { nodes.there.table.compareMarks() }
        #expect(try there.read().last?.json.reason == "ended")
    }

    @Test("is not read by a node without streams of the session, and is there when requested")
    func unwatched() throws {
        let nodes = try Nodes()
        nodes.cluster.lose(true)
        try nodes.here.send(#"{"type":"add","amount":3}"#)
        nodes.there.table.compareMarks()
        #expect(nodes.session.core.withLock { $0.head } == .empty)
        #expect(try nodes.session.opened(.features([nodes.here.tally]), from: .now).read().counts == [3])
    }

    @Test("is in the states and streams of other nodes even without notifications")
    func askedElsewhere() throws {
        let nodes = try Nodes()
        nodes.cluster.lose(true)
        for number in 1...3 {
            try nodes.here.send(#"{"type":"shoutMany","texts":["\#(number)"]}"#)
            let state = try nodes.session.stateNow(of: nodes.here.tally)
            #expect(state == (try nodes.here.session.stateNow(of: nodes.here.tally)))
        }
        let here = try nodes.here.stream("tally")
        let cursor = try #require(try here.read().last?.id)
        try nodes.here.send(#"{"type":"shoutMany","texts":["last"]}"#)
        _ = try here.read()
        let there = try nodes.session.opened(.features([nodes.here.tally]), from: .cursor(cursor))
        let events = try there.read()
        #expect(events.names == ["hello", "state", "label"])
        #expect(try events[0].json.resumed == true)
        #expect(try events.said == ["last"])
    }

    @Test("keeps the session alive on the others, and its end is the session's")
    func life() throws {
        let nodes = try Nodes { $0.sessionLife = .seconds(1_000) }
        func pass(_ duration: Duration) {
            for node in [nodes.here, nodes.there] { node.time.advance(by: duration) }
        }
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        // Used here only, but in memory on the other node too.
        for _ in 0..<4 {
            pass(.seconds(400))
            _ = try nodes.here.table.live(nodes.here.token)
            for _ in 0..<12 { nodes.here.table.sweep() }
        }
        let again = try nodes.there.table.live(nodes.here.token)
        #expect(again !== nodes.session)
        #expect(try again.stateNow(of: nodes.here.tally).version == 2)
        pass(.seconds(900))
        for _ in 0..<12 { nodes.there.table.sweep() }
        _ = try nodes.there.table.live(nodes.here.token)
        pass(.seconds(1_400))
        for node in [nodes.there, nodes.here] { #expect(try node.table.isEnded(nodes.here.token)) }
    }

    @Test("is not reported again when the session left memory because it seemed expired")
    func writtenLabels() throws {
        let nodes = try Nodes { $0.sessionLife = .seconds(200) }
        try nodes.here.send(#"{"type":"shout","text":"a"}"#)
        let stream = try nodes.stream()
        #expect(try stream.read().said == ["a"])
        stream.stream.closed()
        nodes.there.time.advance(by: .seconds(210))
        let again = try nodes.there.table.live(nodes.here.token)
        #expect(again !== nodes.session)
        #expect(try again.opened(.features([nodes.here.tally]), from: .unspecified).read().said.isEmpty)
    }

    @Test("is noticed for sessions in memory only")
    func index() throws {
        let nodes = try Nodes()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        #expect(nodes.here.table.environment.index.withLock { $0[key] } == nodes.here.session.tokenHash)
        try nodes.here.table.ended(nodes.here.session)
        #expect(nodes.here.table.environment.index.withLock { $0[key] } == nil)
    }
}
