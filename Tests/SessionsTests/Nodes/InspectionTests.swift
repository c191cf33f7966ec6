import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("A session as administrators see and reach it on several nodes", .timeLimit(.minutes(10)))
struct InspectionTests {
    @Test func `every node shows the stored values and the node of the work`() async throws {
        let nodes = try NodePair()
        let id = nodes.here.session.id
        let loaded = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        nodes.pass(3)
        let here = try #require(try await nodes.here.table.inspect(id))
        let there = try #require(try await nodes.there.table.inspect(id))
        #expect(here.owner?.isHere == true && here.owner?.address == nil)
        #expect(here.memory?.stores.map(\.runningWork) == [1])
        #expect(there.owner?.isHere == false && there.owner?.address == "here:1")
        #expect(there.owner?.node == here.owner?.node)
        #expect(there.memory?.stores.allSatisfy { $0.runningWork == 0 } == true)
        #expect(there.kept?.head == here.kept?.head && there.stores.map(\.bytes) == here.stores.map(\.bytes))
        #expect(here.stores.map(\.summary.feature) == [nodes.here.tally] && here.stores[0].bytes > 0)
        nodes.hereGate.open()
        _ = try await loaded.wait().get()
    }

    @Test func `an intent that reaches another node than the owner runs there, once`() async throws {
        let nodes = try NodePair()
        _ = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        nodes.pass(3)
        let table = nodes.there.table
        table.environment.onNeed { [here = nodes.here.table] _, token in
            await withCheckedContinuation { continuation in
                here.giveAway(token) { _ in continuation.resume() }
            }
        }
        for isRepeated in [false, true] {
            let outcome = try await table.deliver(
                Array(#"{"type":"add","amount":5}"#.utf8), to: nodes.here.tally, of: nodes.here.token.hash,
                once: "a", makesStore: false
            ).get()
            #expect(outcome.isReplayed == isRepeated)
        }
        #expect(try nodes.count(nodes.other).contains(#""count":5"#))
        nodes.hereGate.open()
        nodes.thereGate.open()
    }

    @Test func `a session that one node ends is gone on the others`() async throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let id = nodes.here.session.id
        let token = try #require(try await nodes.there.table.token(ofID: id))
        try await nodes.there.table.end(token)
        nodes.pass(3)
        #expect(try await nodes.here.table.inspect(id) == nil)
        #expect(nodes.here.session.isEnded)
    }
}
