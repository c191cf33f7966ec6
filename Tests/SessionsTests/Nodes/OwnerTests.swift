import EventStream
import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("The owner of a session", .timeLimit(.minutes(10)))
struct OwnerTests {
    @Test("does not exist while no work runs: any node runs its turns")
    func nobody() throws {
        let nodes = try NodePair()
        for number in 1...3 {
            try nodes.here.send(#"{"type":"add","amount":1}"#)
            let outcome = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
            #expect(outcome.version == UInt64(2 * number + 1))
        }
        #expect(try nodes.owner == nil)
    }

    @Test("is the node whose turn launched work, until the work ends; others forward intents to it")
    func work() async throws {
        let nodes = try NodePair()
        let loaded = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        #expect(try nodes.owner?.node == nodes.here.table.environment.lease?.id)
        nodes.pass(3)
        #expect(try nodes.sendThere(#"{"type":"add","amount":1}"#).code == .elsewhere)
        #expect(nodes.other.owningNode?.address == "here:1")
        #expect(throws: StoreError.self) { try nodes.other.removed(nodes.here.tally) }
        // Its own intents continue.
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
        nodes.hereGate.open()
        _ = try await loaded.wait().get()
        #expect(try nodes.count(nodes.other).contains(#""count":101"#))
        nodes.pass(3)
        #expect(try nodes.owner == nil)
        #expect(nodes.other.owningNode == nil)
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
    }

    @Test("can only be a registered node that reaches the journal")
    func mayRunWork() throws {
        let (cluster, kept) = (NodeJournal.Cluster(), MemoryJournal())
        let journal = NodeJournal(kept, cluster)
        let node = try Fixture(journal: journal)
        #expect(!node.table.mayRunWork)
        node.table.beat(at: "here:1")
        #expect(node.table.mayRunWork)
        journal.cutOff(true)
        for _ in 0..<10 {
            node.time.advance(by: .seconds(1))
            node.table.beat(at: "here:1")
        }
        #expect(!node.table.mayRunWork)
        journal.cutOff(false)
        node.time.advance(by: .seconds(3))
        node.table.beat(at: "here:1")
        node.time.advance(by: .seconds(3))
        node.table.beat(at: "here:1")
        #expect(node.table.mayRunWork)
    }

    @Test("keeps its work when others would conflict: a store shown there does not begin")
    func onlyShown() async throws {
        let nodes = try NodePair()
        let loaded = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        nodes.pass(3)
        let head = nodes.here.session.core.withLock { $0.head }
        let stream = try nodes.other.opened(.features([nodes.here.tally]), from: .unspecified)
        #expect(try stream.read().names == ["hello", "state"])
        #expect(nodes.here.session.core.withLock { $0.head } == head)
        let keyed = try #require(FeatureID("keyed:a"))
        let state = Box<Result<StateSnapshot, StoreError>>()
        nodes.other.state(of: keyed) { state.set($0) }
        #expect(state.value?.code == .elsewhere)
        nodes.hereGate.open()
        _ = try await loaded.wait()
        #expect(try stream.read().counts == [100])
    }

    @Test("is replaced when it dies; its own commits after that fail")
    func zombie() async throws {
        let nodes = try NodePair()
        let loaded = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        let first = try #require(try nodes.owner)
        // Stopped: it renews nothing, and its clocks stand.
        nodes.pass(12, running: [nodes.there])
        #expect(try nodes.sendThere(#"{"type":"add","amount":1}"#).code == .elsewhere)
        nodes.pass(8, running: [nodes.there])
        #expect(try nodes.owner != first)
        _ = try nodes.sendThere(#"{"type":"add","amount":5}"#).get()
        nodes.hereGate.open()
        _ = try await loaded.wait()
        #expect(try nodes.count(nodes.other).contains(#""count":5"#))
        #expect(try nodes.count(nodes.here.session).contains(#""count":5"#))
    }

    @Test("stops its work before others may take over if it cannot reach the journal")
    func leaseIsOver() async throws {
        let nodes = try NodePair()
        _ = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        let store = try #require(nodes.here.session.core.withLock { $0.storesInMemory.first })
        nodes.hereJournal.cutOff(true)
        nodes.pass(8)
        #expect(store.isBusy)
        nodes.pass(2)
        #expect(!store.isBusy)
        // Stores in memory can be read.
        #expect(nodes.here.session.existingState(of: nodes.here.tally) != nil)
        nodes.pass(12)
        #expect(try nodes.owner == nil)
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
        nodes.hereJournal.cutOff(false)
        nodes.pass(4)
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
        #expect(try nodes.count(nodes.other).contains(#""count":2"#))
    }

    @Test("ends soon after an outage in which its lease ended, although others saw nothing of that")
    func outage() async throws {
        let nodes = try NodePair()
        _ = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        #expect(try nodes.owner != nil)
        for journal in [nodes.hereJournal, nodes.thereJournal] { journal.cutOff(true) }
        nodes.pass(12)
        for journal in [nodes.hereJournal, nodes.thereJournal] { journal.cutOff(false) }
        // Less than the time for which a node's row must be unchanged.
        nodes.pass(7)
        #expect(try nodes.owner == nil)
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
    }

    @Test("is not needed by a node that cannot renew: turns without work run, those with work are refused")
    func noLease() throws {
        let nodes = try NodePair()
        nodes.pass(11, running: [])
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
        let refused = try nodes.here.send(#"{"type":"load"}"#)
        #expect(refused.code == .unavailable, "\(refused)")
        #expect(try nodes.count(nodes.other).contains(#""count":1"#))
    }

    @Test("releases its sessions at once when it drains")
    func drain() async throws {
        let nodes = try NodePair()
        _ = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        nodes.here.table.leaveNodes {}
        nodes.pass(6, running: [nodes.there])
        #expect(try nodes.owner == nil)
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
    }

    @Test("releases a session on request")
    func givenAway() async throws {
        let nodes = try NodePair()
        _ = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        nodes.pass(3)
        let isGiven = Box<Bool>()
        nodes.here.table.giveAway(nodes.here.session.tokenHash) { isGiven.set($0) }
        #expect(isGiven.value == true)
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
        #expect(try nodes.owner == nil)
        nodes.here.table.giveAway(nodes.here.session.tokenHash) { isGiven.set($0) }
        #expect(isGiven.value == false)
    }
}

@Suite("Answers over nodes")
struct NodeAnswerTests {
    @Test("include the commits of others, even without an own append")
    func refusals() throws {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        let version = try nodes.here.send(#"{"type":"add","amount":1}"#).get().version
        #expect(
            try nodes.sendThere(#"{"type":"add","amount":1}"#, ifMatch: { $0.contains(version) }).get().version
                > version)
        // The first node does not know of the second one's turn.
        let refused = try nodes.here.send(#"{"type":"add","amount":1}"#, ifMatch: { $0.contains(version) })
        #expect(refused.code == .preconditionFailed, "\(refused)")
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#, ifMatch: { $0.contains(version + 1) }).get()
    }

    @Test("refuse nothing on possibly outdated data if the journal is unreachable")
    func unconfirmed() throws {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        let version = try nodes.here.send(#"{"type":"add","amount":1}"#).get().version
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
        let name = IntentRequest.Name.sequence(1, epoch: "e")
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#, name: name).get()
        nodes.hereJournal.cutOff(true)
        let next = IntentRequest.Name.sequence(2, epoch: "e")
        #expect(try nodes.here.send(#"{"type":"add","amount":1}"#, name: next).code == .unavailable)
        #expect(
            try nodes.here.send(#"{"type":"add","amount":1}"#, ifMatch: { $0.contains(version + 2) }).code
                == .unavailable)
        nodes.hereJournal.cutOff(false)
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#, name: next).get()
    }

    @Test("to numbered intents keep their order on any nodes")
    func sequences() throws {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        for number in UInt64(1)...9 {
            let name = IntentRequest.Name.sequence(number, epoch: "e")
            let body = #"{"type":"add","amount":1}"#
            let result =
                number.isMultiple(of: 2)
                ? try nodes.here.send(body, name: name) : try nodes.sendThere(body, name: name)
            _ = try result.get()
            // Once more, to the other one.
            let again =
                number.isMultiple(of: 2)
                ? try nodes.sendThere(body, name: name) : try nodes.here.send(body, name: name)
            #expect(try again.get().isReplayed)
        }
        let gap = IntentRequest.Name.sequence(11, epoch: "e")
        #expect(try nodes.sendThere(#"{"type":"add","amount":1}"#, name: gap).code == .outOfSequence)
        #expect(try nodes.count(nodes.here.session).contains(#""count":9"#))
    }

    @Test("come from one node alone for a while after conflicts of two")
    func contention() throws {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        // Each finds that the other was first.
        var isForwarded = false
        for _ in 0..<40 where !isForwarded {
            let results = [
                try nodes.here.send(#"{"type":"add","amount":1}"#), try nodes.sendThere(#"{"type":"add","amount":1}"#),
            ]
            isForwarded = results.contains { $0.code == .elsewhere }
        }
        #expect(isForwarded)
        nodes.pass(10)
        #expect(try nodes.owner == nil)
    }
}

@Suite("Work for watchers")
struct NodeWatcherTests {
    private func isWatched(_ nodes: NodePair) throws -> Bool {
        try nodes.count(nodes.here.session).contains(#""isWatched":true"#)
    }

    @Test("runs on the node whose turn registered it, which owns the session from then on")
    func owns() async throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"watch"}"#)
        // Only this node knows of it.
        #expect(try nodes.owner?.node == nodes.here.table.environment.lease?.id)
        let stream = try nodes.here.stream("tally")
        await nodes.here.clock.sleepers(atLeast: 1)
        #expect(try isWatched(nodes))
        stream.stream.closed()
    }

    @Test("runs on the owner for a stream of another node, until that reports its end")
    func remote() async throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"watch"}"#)
        // It owns the session for other work.
        let loaded = nodes.settle(#"{"type":"load"}"#, in: nodes.here.session)
        await nodes.hereGate.waiters()
        nodes.pass(3)
        let stream = try nodes.other.opened(.features([nodes.here.tally]), from: .unspecified)
        let told = nodes.there.table.watchedElsewhere
        #expect(told.map(\.node.address) == ["here:1"])
        let store = try #require(nodes.here.session.core.withLock { $0.storesInMemory.first })
        #expect(!store.isWatched)
        let node = try #require(nodes.there.table.environment.lease?.id)
        nodes.here.table.watched(told[0].sessions, by: node)
        #expect(store.isWatched)
        // The work for watchers, and the request that waits for the other work.
        await nodes.here.clock.sleepers(atLeast: 2)
        #expect(try isWatched(nodes))
        stream.stream.closed()
        #expect(nodes.there.table.watchedElsewhere.isEmpty)
        nodes.pass(18)
        #expect(!store.isWatched)
        nodes.hereGate.open()
        _ = try await loaded.wait()
    }
}

@Suite("What nodes know of each other's sessions")
struct NodeKnowledgeTests {
    @Test("a session that another node ended is served for at most five seconds, even without notifications")
    func ended() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        _ = try nodes.there.table.live(nodes.here.token).stateNow(of: nodes.here.tally)
        nodes.cluster.lose(true)
        try nodes.here.table.ended(nodes.here.session)
        nodes.there.time.advance(by: .seconds(4))
        #expect(nodes.there.table.lookup(nodes.here.token) != nil)
        nodes.there.time.advance(by: .seconds(1))
        #expect(nodes.there.table.lookup(nodes.here.token) == nil)
        #expect(try nodes.there.table.isEnded(nodes.here.token))
    }

    @Test("is used for at most a minute if the journal does not answer")
    func unreachable() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        _ = try nodes.other.stateNow(of: nodes.here.tally)
        nodes.thereJournal.cutOff(true)
        nodes.there.time.advance(by: .seconds(59))
        _ = try nodes.there.table.live(nodes.here.token)
        nodes.there.time.advance(by: .seconds(1))
        guard case .failed(let error) = try nodes.there.table.found(nodes.here.token) else {
            Issue.record("the session was found")
            return
        }
        #expect(error.code == .unavailable)
        nodes.thereJournal.cutOff(false)
        // Until it has a lease again.
        nodes.pass(4)
        _ = try nodes.there.table.live(nodes.here.token)
    }

    @Test("is not shown if the journal answers but stored nothing of this node for the duration of a lease")
    func replaced() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        _ = try nodes.other.stateNow(of: nodes.here.tally)
        // As at a replaced database: reads are answered, and commits never.
        nodes.thereJournal.holdCommits(true)
        nodes.pass(9)
        _ = try nodes.there.table.live(nodes.here.token)
        nodes.pass(7)
        #expect(throws: (any Error).self) { try nodes.there.table.live(nodes.here.token) }
        nodes.thereJournal.holdCommits(false)
        nodes.pass(4)
        _ = try nodes.there.table.live(nodes.here.token)
    }

    @Test("has a new epoch on each node when its journal lost its latest commits")
    func backwards() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let stream = try nodes.other.opened(.all, from: .now)
        #expect(try stream.read().names == ["hello", "state"])
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        let before = nodes.here.session.core.withLock { $0.epoch }
        nodes.kept.renewEpoch(of: key, to: "another")
        for node in [nodes.here, nodes.there] { node.table.compareMarks() }
        let names = try stream.read().names
        #expect(names == ["reset", "state"])
        nodes.pass(6)
        _ = try nodes.count(nodes.here.session)
        for session in [nodes.here.session, nodes.other] {
            #expect(session.core.withLock { $0.epoch } == "another" && before != "another")
        }
    }

    @Test("streams of a session are counted on all nodes together")
    func streams() throws {
        let nodes = try NodePair { $0.streamsPerSession = 1 }
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        var streams = [try nodes.here.stream("tally"), try nodes.here.stream("tally")]
        for _ in 0..<2 { streams.append(try nodes.other.opened(.features([nodes.here.tally]), from: .now)) }
        #expect(throws: StoreError.self) { try nodes.here.stream("tally") }
        streams[3].stream.closed()
        _ = try nodes.here.stream("tally")
        #expect(nodes.other.streamCount == 1)
    }
}
