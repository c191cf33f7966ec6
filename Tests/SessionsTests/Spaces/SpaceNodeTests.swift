import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Stores that many share on several nodes")
struct SpaceNodeTests {
    private let milk = #"{"type":"add","text":"milk"}"#
    private let tea = #"{"type":"call","text":"tea"}"#

    @Test("84: the node of a space's first turn owns it, until nothing has used it for a minute")
    func owner() throws {
        let nodes = try SpacePair()
        let (ann, bob) = (try nodes.here.guest(), try nodes.there.guest())
        _ = try ann.send(milk).get()
        #expect(try nodes.owner() == nodes.here.node)
        #expect(try bob.send(milk).code == .elsewhere)
        // Each space has an owner of its own.
        _ = try bob.send(milk, to: "picnic").get()
        #expect(try nodes.owner(of: "picnic") == nodes.there.node)
        nodes.pass(50)
        _ = try ann.send(milk).get()
        nodes.pass(50)
        #expect(try nodes.owner() == nodes.here.node)
        #expect(try nodes.owner(of: "picnic") == nil)
        nodes.pass(20)
        #expect(try nodes.owner() == nil)
        _ = try bob.send(milk).get()
        #expect(try nodes.owner() == nodes.there.node)
        #expect(try ann.send(milk).code == .elsewhere)
    }

    @Test("84: a node stays a space's owner as long as a stream shows it, also one of another node")
    func shown() throws {
        let nodes = try SpacePair()
        let (ann, bob) = (try nodes.here.guest(), try nodes.there.guest())
        _ = try ann.send(milk).get()
        do {
            let stream = try bob.stream("party")
            #expect(try stream.events().contains { $0.hasPrefix("state") && $0.contains("milk") })
            for _ in 0..<12 {
                nodes.pass(10)
                for (node, sessions) in nodes.there.table.watchedElsewhere {
                    #expect(node.id == nodes.here.node)
                    nodes.here.table.watched(sessions, by: try #require(nodes.there.node))
                }
            }
            #expect(try nodes.owner() == nodes.here.node)
        }
        nodes.pass(90)
        #expect(try nodes.owner() == nil)
    }

    @Test("79: streams of every node show what a caller of any node did, its labels too")
    func streams() throws {
        let nodes = try SpacePair()
        let (ann, bob) = (try nodes.here.guest(), try nodes.there.guest())
        _ = try ann.send(milk).get()
        let streams = [try ann.stream("party"), try bob.stream("party")]
        for stream in streams { _ = try stream.events() }
        _ = try ann.send(tea).get()
        for stream in streams { #expect(try stream.events().contains { $0.contains(#""text":"tea""#) }) }
    }

    @Test("80: as many callers as come watch one space, on each node")
    func manyWatchers() throws {
        let nodes = try SpacePair()
        _ = try nodes.here.guest().send(milk).get()
        let streams = try (0..<200).map { index in
            try (index % 2 == 0 ? nodes.here : nodes.there).guest().stream("party")
        }
        for stream in streams { #expect(try stream.events().contains { $0.contains("milk") }) }
    }

    @Test("84: a lost owner costs a take-over, and nothing that it acknowledged")
    func lost() throws {
        let nodes = try SpacePair()
        let (ann, bob) = (try nodes.here.guest(), try nodes.there.guest())
        for number in 1...3 { _ = try ann.send(milk, key: "\(number)").get() }
        nodes.pass(20, running: [nodes.there])
        _ = try bob.send(milk).get()
        #expect(try nodes.owner() == nodes.there.node)
        #expect(try bob.state().get().items.count == 4)
        // It comes back under another id, and knows that it owns nothing.
        nodes.pass(5)
        #expect(try ann.send(milk, key: "3").code == .elsewhere)
        let again = try nodes.moved(ann, to: nodes.there).send(milk, key: "3").get()
        #expect(again.isReplayed)
        #expect(try bob.state().get().items.count == 4)
    }

    @Test("84: a node without its lease runs no turn of a space")
    func noLease() throws {
        let nodes = try SpacePair()
        let ann = try nodes.here.guest()
        nodes.pass(12, running: [nodes.there])
        #expect(try ann.send(milk).code == .unavailable)
        nodes.pass(3)
        _ = try ann.send(milk).get()
    }

    @Test("81: who has ended its session at another node is refused by the journal, though this node was not told")
    func endedElsewhere() throws {
        let nodes = try SpacePair()
        let (ann, bob) = (try nodes.here.guest(), try nodes.here.guest())
        for client in [ann, bob] {
            _ = try client.send(milk).get()
            let tally = try #require(FeatureID("tally"))
            client.session.send(IntentRequest(body: Array(#"{"type":"add","amount":1}"#.utf8)), to: tally) { _ in }
        }
        nodes.cluster.lose(true)
        try nodes.there.table.ended(nodes.moved(ann, to: nodes.there).session)
        #expect(try ann.send(milk).code == .gone)
        #expect(try bob.send(milk).get().version > 0)
        #expect(try bob.state().get().items.count == 3)
    }

    @Test("81: so is who was never stored and ended at another node")
    func unkeptEndedElsewhere() throws {
        let nodes = try SpacePair()
        let ann = try nodes.here.guest()
        _ = try ann.send(milk).get()
        nodes.cluster.lose(true)
        try nodes.there.table.ended(nodes.moved(ann, to: nodes.there).session)
        #expect(try ann.send(milk).code == .gone)
        #expect(try nodes.here.guest().state().get().items.count == 1)
    }

    @Test("81: so is who signed out at another node, and a sign-in there leaves what came before")
    func signedOutElsewhere() async throws {
        let nodes = try SpacePair(rule: { who, _, _ in who != nil })
        let ann = try await nodes.here.user("ann")
        _ = try ann.send(milk).get()
        nodes.cluster.lose(true)
        let there = try nodes.moved(ann, to: nodes.there)
        try await awaitResult { done in
            there.fixture.table.end(there.session, there.own, everywhere: false, completion: done)
        }.get()
        #expect(try [.signedOut, .gone].contains(#require(ann.send(milk).code)))
        let bob = try await nodes.here.user("bob")
        #expect(try bob.state().get().items.count == 1)
    }

    @Test("94: in one batch only the changed caller's turn is refused, and no conflict is counted")
    func oneOfMany() throws {
        let nodes = try SpacePair()
        let clients = try (0..<80).map { _ in try nodes.here.guest() }
        _ = try clients[0].send(milk).get()
        let space = try nodes.here.space("party")
        let chores = try #require(FeatureID("chores:party"))
        nodes.cluster.lose(true)
        try nodes.there.table.ended(nodes.moved(clients[40], to: nodes.there).session)
        let answers = clients.map { _ in Box<IntentResult>() }
        nodes.hereJournal.holdAnswer()
        for (client, answer) in zip(clients, answers) {
            space.send(IntentRequest(body: Array(milk.utf8), client: client.client), to: chores) { answer.set($0) }
        }
        nodes.hereJournal.tellAnswer()
        for (index, answer) in answers.enumerated() {
            #expect(answer.value?.code == (index == 40 ? .gone : nil), "\(index): \(String(describing: answer.value))")
        }
        #expect(try clients[0].state().get().items.count == 80)
    }

    @Test("of two nodes that make a space at the same time one does, and the other's client comes again")
    func sameTime() throws {
        let nodes = try SpacePair()
        let (ann, bob) = (try nodes.here.guest(), try nodes.there.guest())
        nodes.cluster.lose(true)
        _ = try nodes.here.space("party", for: ann)
        let other = try nodes.there.space("party", for: bob)
        _ = try ann.send(milk).get()
        let answer = Box<IntentResult>()
        other.send(
            IntentRequest(body: Array(milk.utf8), client: bob.client), to: try #require(FeatureID("chores:party"))
        ) { answer.set($0) }
        #expect(answer.value?.code == .evicted)
        #expect(try bob.send(milk).code == .elsewhere)
        #expect(try nodes.moved(bob, to: nodes.here).send(milk).get().version == 3)
    }
}
