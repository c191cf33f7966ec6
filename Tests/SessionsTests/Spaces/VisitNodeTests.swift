import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("What deleted people leave in shared stores of several nodes", .timeLimit(.minutes(5)))
struct VisitNodeTests {
    private let milk = #"{"type":"add","text":"milk"}"#
    private let bread = #"{"type":"add","text":"bread"}"#
    private let ann = Subject(issuer: "i", id: "ann")

    /// Two nodes: this one owns a space to which ann and bob wrote, and gives it away if the other asks.
    private func pair(_ ann: String = "ann") async throws -> (SpacePair, bob: SpaceClient, receipts: [ReceiptKey]) {
        let nodes = try SpacePair()
        nodes.there.table.environment.onNeed { [here = nodes.here.table] _, token in
            await withCheckedContinuation { continuation in
                here.giveAway(token) { _ in continuation.resume() }
            }
        }
        let (ann, bob) = (try await nodes.here.user(ann), try await nodes.here.user("bob"))
        _ = try ann.send(milk, key: "k").get()
        _ = try bob.send(bread, key: "k").get()
        #expect(try nodes.owner() == nodes.here.node)
        return (nodes, bob, try await nodes.kept.stored("party").receipts.map(\.key))
    }

    private func texts(_ nodes: SpacePair, _ bob: SpaceClient) throws -> [[String]] {
        try [bob, nodes.moved(bob, to: nodes.there)].map { try $0.state().get().items.map(\.text) }
    }

    private func receipts(of node: SpaceFixture, _ keys: [ReceiptKey]) throws -> Int {
        let space = try node.space("party")
        return space.core.withLock { core in keys.count { core.receipts[$0] != nil } }
    }

    @Test("a person's deletion at another node than a space's owner removes the person from all nodes")
    func elsewhere() async throws {
        let (nodes, bob, keys) = try await pair()
        let data = try await nodes.there.table.forget(ann)
        #expect(data.spaces == 1 && data.sessions == 1)
        nodes.pass(3)
        #expect(try texts(nodes, bob) == [["bread"], ["bread"]])
        #expect(try await nodes.kept.visits(of: "ann").isEmpty)
        #expect(try await nodes.kept.visits(of: "bob").count == 1)
        #expect(try await nodes.kept.stored("party").receipts.count == 1)
        #expect(keys.count == 2)
        #expect(try receipts(of: nodes.there, keys) == 1)
        #expect(try nodes.moved(bob, to: nodes.there).send(bread, key: "k").get().isReplayed)
    }

    @Test("what a failed deletion left in a space, the hourly look of one node deletes")
    func afterFailure() async throws {
        let (nodes, bob, keys) = try await pair()
        nodes.thereJournal.failNext(.forget)
        await #expect(throws: StoreError.self) { try await nodes.there.table.forget(ann) }
        #expect(try await nodes.kept.visits(.forgotten).count == 1)
        #expect(try await nodes.kept.stored("party").receipts.count == 2)
        // Until neither owns the space.
        nodes.pass(120)
        #expect([nodes.here, nodes.there].count { $0.table.isNodesTurn(Moment($0.table.environment.time)) } == 1)
        for node in [nodes.here, nodes.there] { node.table.sweep() }
        while try await !nodes.kept.visits(.forgotten).isEmpty { await Task.yield() }
        #expect(try texts(nodes, bob) == [["bread"], ["bread"]])
        #expect(try await nodes.kept.visits(of: "bob").count == 1)
        #expect(try await nodes.kept.stored("party").receipts.count == 1)
        #expect(try receipts(of: nodes.there, keys) == 1)
    }

    @Test("receipts go also where a store keeps the person's items, at a node that the owner's news did not reach")
    func onlyReceipts() async throws {
        let (nodes, bob, _) = try await pair("stays")
        _ = try nodes.there.space("party")
        nodes.cluster.lose(true)
        let carl = try await nodes.here.user("stays")
        _ = try carl.send(milk, key: "later").get()
        #expect(try await nodes.there.table.forget(Subject(issuer: "i", id: "stays")).sessions == 2)
        #expect(try nodes.owner() == nodes.here.node)
        #expect(try bob.state().get().items.count == 3)
        #expect(try await nodes.kept.stored("party").receipts.count == 1)
        #expect(try await nodes.kept.visits(of: "stays").isEmpty)
    }

    @Test("a repeated deletion deletes the receipts that a failed one had removed from memory")
    func receiptsAfterFailure() async throws {
        let (nodes, _, _) = try await pair("stays")
        let person = Subject(issuer: "i", id: "stays")
        nodes.thereJournal.failNext(.forget)
        await #expect(throws: StoreError.self) { try await nodes.there.table.forget(person) }
        #expect(try await nodes.kept.stored("party").receipts.count == 2)
        _ = try await nodes.there.table.forget(person)
        #expect(try await nodes.kept.stored("party").receipts.count == 1)
    }
}
