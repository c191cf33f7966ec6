import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// After a restore a node may have sessions in memory that the database lacks.
@Suite("A session whose key belongs to another session", .timeLimit(.minutes(10)))
struct ReusedKeyTests {
    /// Returns a session of this node, that of another user which has its key now, and the key.
    private func nodes(
        before: (NodePair) throws -> Void = { _ in }
    ) throws -> (nodes: NodePair, stranger: Session) {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":5}"#)
        let (stranger, _) = try nodes.there.table.made(.bearer)
        let answer = Answer()
        for _ in 0..<3 {
            stranger.send(IntentRequest(body: Array(#"{"type":"add","amount":7}"#.utf8)), to: nodes.here.tally) {
                answer.set($0)
            }
        }
        _ = try #require(answer.value).get()
        let mine = try #require(nodes.here.session.core.withLock { $0.key })
        let theirs = try #require(stranger.core.withLock { $0.key })
        try before(nodes)
        nodes.hereJournal.give(mine, to: theirs)
        return (nodes, stranger)
    }

    @Test("shows nothing of it, and has left memory")
    func read() throws {
        let (nodes, stranger) = try nodes()
        let session = nodes.here.session
        nodes.pass(5)
        let read = Box<Result<StateSnapshot, StoreError>>()
        session.confirm { _ in session.state(of: nodes.here.tally) { read.set($0) } }
        expectError(.evicted) { _ = try #require(read.value).get() }
        #expect(session.hasLeft && !session.isEnded)
        #expect(try nodes.count(stranger).contains(#""count":21"#))
    }

    @Test("writes nothing into it, and leaves memory")
    func write() throws {
        let (nodes, stranger) = try nodes()
        let outcome = try nodes.here.send(#"{"type":"add","amount":500}"#)
        #expect(outcome.refusal == "evicted")
        #expect(nodes.here.session.hasLeft)
        #expect(try nodes.count(stranger).contains(#""count":21"#))
    }

    @Test("shows nothing of it where its stores are loaded, and on its streams")
    func streams() throws {
        let opened = Box<TestStream>()
        let (nodes, _) = try nodes { opened.set(try $0.here.stream("tally")) }
        let stream = try #require(opened.value)
        nodes.cluster.interrupt()
        nodes.pass(5)
        let events = try stream.read()
        #expect(events.names.last == "goaway")
        #expect(try events.named("state").allSatisfy { try $0.json.state?.count != 21 })
        let loaded = Box<[StoredStore]>()
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        nodes.hereJournal.loadStores([nodes.here.tally], of: key, named: nodes.here.session.tokenHash) {
            loaded.set((try? $0.get().stores) ?? [])
        }
        #expect(loaded.value?.isEmpty == true)
    }
}
