import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Work whose node died", .timeLimit(.minutes(10)))
struct TakeoverTests {
    @Test("continues where its store was in memory already")
    func inMemory() throws {
        let nodes = try ErrandNodes()
        _ = try nodes.send(#"{"type":"enter","value":1}"#, on: 1).get()
        _ = try nodes.send(#"{"type":"work","value":2}"#, on: 0).get()
        #expect(try nodes.owner() == 0)
        nodes.pass(22, running: [1])
        #expect(try nodes.owner() == 1)
    }

    @Test("continues although an intent for another store came first")
    func otherStore() throws {
        let nodes = try ErrandNodes()
        _ = try nodes.send(#"{"type":"enter","value":1}"#, to: 1, on: 1).get()
        _ = try nodes.send(#"{"type":"work","value":2}"#, to: 0, on: 0).get()
        nodes.nodes[0].table.giveAway(nodes.token.hash) { _ in }
        #expect(try nodes.owner() == nil)
        _ = try nodes.send(#"{"type":"enter","value":3}"#, to: 1, on: 1).get()
        #expect(try nodes.owner() == 1)
    }

    @Test("continues although work of another store began first")
    func otherWork() throws {
        let nodes = try ErrandNodes()
        _ = try nodes.send(#"{"type":"work","value":1}"#, to: 0, on: 0).get()
        nodes.nodes[0].table.giveAway(nodes.token.hash) { _ in }
        _ = try nodes.send(#"{"type":"work","value":2}"#, to: 1, on: 1).get()
        #expect(try nodes.owner() == 1)
        let session = try nodes.session(on: 1)
        let busy = session.core.withLock { $0.storesInMemory.filter(\.isBusy).map(\.feature) }
        #expect(Set(busy) == Set(nodes.features.prefix(2)))
        #expect(Set(nodes.kept.ownedSessions.first?.working ?? []) == Set(nodes.features.prefix(2)))
    }

    @Test("waits for a node that can read its state")
    func newerState() throws {
        let nodes = try ErrandNodes(builds: [2, 1])
        _ = try nodes.send(#"{"type":"work","value":1}"#, on: 0).get()
        nodes.pass(22, running: [1])
        #expect(try nodes.owner() == 0)
        #expect(nodes.kept.ownedSessions.map(\.working) == [[nodes.features[0]]])
        try nodes.add(build: 2)
        nodes.pass(12, running: [1, 2])
        #expect(try nodes.owner() == 2)
    }

    @Test("leaves no data in memory on a node that only showed it")
    func memory() async throws {
        let nodes = try NodePair()
        let loaded = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        let stream = try nodes.other.opened(.all, from: .now)
        #expect(try stream.read().names == ["hello", "state"])
        stream.stream.closed()
        nodes.hereGate.open()
        _ = try await loaded.wait().get()
        nodes.pass(1_000)
        for _ in 0..<2 { nodes.there.table.sweep(part: 1) }
        #expect(nodes.there.table.count == 0)
    }

    @Test("shows the owner's last view if another build derives it differently")
    func derivedView() throws {
        let nodes = try ErrandNodes(builds: [1, 2])
        _ = try nodes.send(#"{"type":"work","value":1}"#, on: 0).get()
        let stream = try nodes.session(on: 1).opened(.all, from: .now)
        #expect(try stream.read().names == ["hello", "state"])
        let version = try nodes.send(#"{"type":"enter","value":2}"#, on: 0).get().version
        #expect(try stream.read().names == ["state"])
        nodes.nodes[0].table.leaveNodes {}
        nodes.pass(6, running: [1])
        #expect(try nodes.owner() == 1)
        let state = try nodes.session(on: 1).stateNow(of: nodes.features[0])
        #expect(state.version >= version)
        #expect(String(decoding: state.view, as: UTF8.self).contains(#""entries":[1,2]"#))
    }

    @Test("for watchers begins on the stream's node if the owner ends its own work without knowing them")
    func watchers() throws {
        let nodes = try ErrandNodes()
        _ = try nodes.send(#"{"type":"enter","value":1}"#, to: 2, on: 0).get()
        _ = try nodes.send(#"{"type":"work","value":2}"#, to: 0, on: 0).get()
        nodes.pass(1)
        let stream = try nodes.session(on: 1).opened(.features([nodes.features[2]]), from: .now)
        #expect(try stream.read().names == ["hello", "state"])
        #expect(try nodes.owner() == 0)
        #expect(try nodes.session(on: 0).removed(nodes.features[0]))
        nodes.pass(4)
        #expect(try nodes.owner() == 1)
    }

    @Test("for watchers begins once where their store was made before another node became the owner")
    func watchersOnce() throws {
        let nodes = try ErrandNodes(executor: InlineExecutor())
        _ = try nodes.send(#"{"type":"enter","value":1}"#, to: 2, on: 1).get()
        _ = try nodes.send(#"{"type":"work","value":2}"#, to: 0, on: 0).get()
        let stream = try nodes.session(on: 1).opened(.features([nodes.features[2]]), from: .now)
        #expect(try stream.read().names == ["hello", "state"])
        #expect(nodes.runs.count == 1)
        nodes.pass(22, running: [1])
        #expect(try nodes.owner() == 1)
        // The errand's work continues, and that for the watcher begins.
        #expect(nodes.runs.count == 3)
        _ = try nodes.send(#"{"type":"enter","value":3}"#, to: 2, on: 1).get()
        #expect(nodes.runs.count == 3)
    }

    @Test("continues although the node that should take it over never starts")
    func givenToNobody() throws {
        let nodes = try ErrandNodes()
        _ = try nodes.send(#"{"type":"work","value":1}"#, on: 0).get()
        nodes.nodes[0].table.giveAway(nodes.token.hash) { _ in }
        #expect(try nodes.owner() == nil)
        nodes.pass(12)
        #expect(try nodes.owner() != nil)
    }

    @Test("for watchers begins again on the node that released the session")
    func watchersAgain() throws {
        let nodes = try ErrandNodes()
        let gauge = nodes.features[2]
        _ = try nodes.send(#"{"type":"enter","value":1}"#, to: 2, on: 0).get()
        _ = try nodes.send(#"{"type":"work","value":2}"#, to: 0, on: 0).get()
        #expect(try nodes.session(on: 0).removed(nodes.features[0]))
        nodes.pass(4)
        #expect(nodes.kept.ownedSessions.isEmpty)
        // Messages of another node come too late.
        let other = try #require(nodes.nodes[1].id)
        nodes.nodes[0].table.watched([(nodes.token.hash, [gauge])], by: other)
        let session = try nodes.session(on: 0)
        #expect(session.core.withLock { $0.stores[gauge]?.store?.isWatched } == false)
        _ = try session.opened(.features([gauge]), from: .now)
        #expect(try nodes.owner() == 0)
    }
}

/// Runs work on the thread that starts it until it waits, so that none is canceled before it begins.
private final class InlineExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}
