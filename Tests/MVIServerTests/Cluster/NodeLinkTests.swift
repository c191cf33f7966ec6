import Locking
import MicroHTTP
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("Requests with a node's stamp")
struct NodeLinkTests {
    /// A receiving node, with its log.
    private struct Receiver {
        let log = LogKeeper()
        let world = World()
        let node: TestNode
        let link: NodeLink
        var id: NodeID { get throws { try #require(node.id) } }

        init(knowsSecret: Bool = true) throws {
            node = try TestNode(in: world)
            node.journal.cutOff(!knowsSecret)
            link = try #require(NodeLink(ScriptedPeers(), node.environment, logger: log.logger))
        }

        /// The sender that a request with a stamp gets; nil if it is refused.
        func sender(_ stamp: String) -> RequestSender? {
            let head = RequestHead(
                method: "GET", path: Array("/".utf8), fields: HeaderFields([(NodeStamp.shownField, stamp)]))
            let found = Lock<RequestSender?>(nil)
            _ = link.receive(head) { _, sender in
                found.withLock { $0 = sender }
                return .refuse(Response(status: 204))
            }
            return found.withLock { $0 }
        }

        /// The sender of a request with a valid stamp.
        func proven(for receiver: NodeID, age: Duration = .zero) throws -> RequestSender? {
            let secret = Lock<JournalSecret?>(nil)
            world.kept.secret { result in secret.withLock { $0 = try? result.get() } }
            let seal = NodeSeal(try #require(secret.withLock { $0 }))
            let time = ManualTime.beginning - age
            let stamp = NodeStamp(
                node: NodeID(1), receiver: receiver, time: time.components.seconds * 1_000, client: .unknown,
                bodyHash: NodeSeal.hash([]))
            return sender(seal.seal(stamp, method: "GET", target: "/", fields: []))
        }
    }

    private static let forged =
        "1 2 1767313000000 unknown \(String(repeating: "0", count: 64)) "
        + String(repeating: "0", count: 64)

    @Test func `a server whose journal is not shared has no connection to nodes`() throws {
        #expect(NodeLink(ScriptedPeers(), SessionEnvironment(features: try FeatureRegistry([]))) == nil)
    }

    @Test func `a stamp is valid for its receiver, and refused by another node`() throws {
        let receiver = try Receiver()
        #expect(try receiver.proven(for: receiver.id) == .node)
        #expect(receiver.log.lines.isEmpty)
        #expect(try receiver.proven(for: .random()) == nil)
        #expect(try receiver.proven(for: .random()) == nil)
        #expect(receiver.log.lines.count == 1)
        #expect(receiver.log.lines.first?.contains("warning Requests are for another node") == true)
    }

    @Test func `a stamp for an id that the node had before, or for a node without a lease, is refused`() throws {
        let receiver = try Receiver()
        let former = try receiver.id
        receiver.node.journal.cutOff(true)
        receiver.node.pass(20)
        #expect(receiver.node.id == nil)
        #expect(try receiver.proven(for: former) == nil)
        receiver.node.journal.cutOff(false)
        receiver.node.pass(4)
        #expect(try receiver.proven(for: former) == nil)
        #expect(try receiver.id != former && receiver.proven(for: receiver.id) == .node)
    }

    @Test func `invalid stamps are counted in one warning per minute`() throws {
        let receiver = try Receiver()
        for _ in 0..<3 { #expect(receiver.sender(Self.forged) == .unproven) }
        // In the format of an older build.
        #expect(receiver.sender("1 1767313000000 unknown 0 0") == .unproven)
        #expect(receiver.log.lines.count == 1 && receiver.log.lines[0].contains("\"requests\": 1"))
        #expect(receiver.log.messages == ["warning Requests with an invalid node stamp arrived."])
        receiver.world.time.advance(by: .seconds(59))
        _ = receiver.sender(Self.forged)
        #expect(receiver.log.lines.count == 1)
        receiver.world.time.advance(by: .seconds(1))
        _ = receiver.sender(Self.forged)
        #expect(receiver.log.lines.count == 2 && receiver.log.lines[1].contains("\"requests\": 5"))
        // Each kind of warning has its own minute.
        #expect(try receiver.proven(for: receiver.id, age: .seconds(61)) == .unproven)
        #expect(receiver.log.lines.count == 3 && receiver.log.lines[2].contains("\"seconds\": "))
    }

    @Test func `there are no warnings before the journal's secret is known`() throws {
        let receiver = try Receiver(knowsSecret: false)
        #expect(receiver.sender(Self.forged) == .unproven)
        #expect(receiver.log.lines.isEmpty)
    }
}
