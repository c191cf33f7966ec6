import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Two nodes that use one session at the same time", .timeLimit(.minutes(10)))
struct ContentionTests {
    @Test("the node with repeated conflicts owns the session for some seconds")
    func collisions() throws {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        for number in 1...4 {
            _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
            #expect(try nodes.owner == nil)
            #expect(try nodes.sendThere(#"{"type":"add","amount":1}"#).get().version == UInt64(2 * number + 1))
        }
        #expect(try nodes.owner?.node == nodes.there.table.environment.lease?.id)
        let outcome = try nodes.here.send(#"{"type":"add","amount":1}"#)
        #expect(outcome.code == .elsewhere)
        nodes.cluster.lose(false)
        nodes.pass(9)
        #expect(try nodes.owner == nil)
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
    }

    @Test("the node that caused repeated conflicts owns the session for some seconds")
    func contention() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        nodes.thereJournal.tellContention(of: try #require(nodes.here.session.core.withLock { $0.key }))
        #expect(try nodes.owner == nil)
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        #expect(try nodes.owner?.node == nodes.here.table.environment.lease?.id)
        #expect(try nodes.sendThere(#"{"type":"add","amount":1}"#).code == .elsewhere)
        nodes.pass(9)
        #expect(try nodes.owner == nil)
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
    }

    @Test("a reader waits for a slow journal that answers others, but only two seconds for a silent one")
    func slowJournal() async throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let (there, key) = (nodes.there, try #require(nodes.here.session.core.withLock { $0.key }))
        let (second, _) = try there.table.made(.bearer)
        nodes.cluster.lose(true)
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        nodes.thereJournal.holdMarks(of: key)
        let count = Box<String>()
        nodes.other.confirm { _ in count.set((try? nodes.count(nodes.other)) ?? "") }
        for _ in 0..<2 {
            await there.clock.sleepers()
            there.time.advance(by: .seconds(2))
            second.confirm { _ in }
            there.clock.advance(by: .seconds(2))
        }
        await there.clock.sleepers()
        #expect(count.value == nil)
        nodes.thereJournal.holdMarks(of: nil)
        #expect(try #require(count.value).contains(#""count":2"#))
        nodes.thereJournal.holdMarks(of: key)
        async let stale = awaitResult { done in nodes.other.state(of: nodes.here.tally) { done($0) } }
        await there.clock.sleepers()
        there.time.advance(by: .seconds(2))
        there.clock.advance(by: .seconds(2))
        #expect(try await stale.get().isStale)
        nodes.thereJournal.holdMarks(of: nil)
        let fresh = await awaitResult { done in nodes.other.state(of: nodes.here.tally) { done($0) } }
        #expect(try !fresh.get().isStale)
    }
}
