import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("A session of which the journal lost what was committed last")
struct LostBranchTests {
    /// Both nodes know three turns, of which the journal lost one.
    private func nodes() throws -> NodePair {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        let snapshot = try #require(nodes.kept.snapshot(of: key))
        try nodes.here.send(#"{"type":"add","amount":10}"#)
        #expect(try nodes.count(nodes.other).contains(#""count":11"#))
        nodes.kept.goBack(key, to: snapshot, epoch: "another")
        return nodes
    }

    /// Has a node notice it, up to where the session is read anew.
    private func notice(_ nodes: NodePair) throws {
        nodes.hereJournal.holdLoads()
        nodes.here.session.catchUp()
        try #require(nodes.hereJournal.tellLoad(), "the session was to be read")
    }

    @Test("runs nothing before it is read anew: what is read then is no older than what was kept")
    func order() throws {
        let nodes = try nodes()
        try notice(nodes)
        let answer = nodes.here.session.send(#"{"type":"add","amount":100}"#, to: nodes.here.tally)
        while nodes.hereJournal.tellLoad() {}
        let version = try #require(answer.value, "all was told").get().version
        let core = nodes.here.session.core.withLock { ($0.head.number, $0.stores[nodes.here.tally]?.version) }
        #expect(core == (version, version))
        #expect(try nodes.count(nodes.other).contains(#""count":101"#))
    }

    @Test("refuses no number as the second one that another node took as the first")
    func numbers() throws {
        let nodes = try nodes()
        let body = #"{"type":"add","amount":100}"#
        _ = try nodes.sendThere(body, name: .sequence(1, epoch: "client")).get()
        try notice(nodes)
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        // The answer whether another node appended something comes when the session was read.
        nodes.hereJournal.holdMarks(of: key)
        let answer = nodes.here.session.send(body, to: nodes.here.tally, name: .sequence(2, epoch: "client"))
        while nodes.hereJournal.tellLoad() {}
        nodes.hereJournal.holdMarks(of: nil)
        while nodes.hereJournal.tellLoad() {}
        #expect(answer.told == "ran")
        #expect(try nodes.count(nodes.other).contains(#""count":201"#))
    }
}
