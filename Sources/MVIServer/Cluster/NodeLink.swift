import Logging
import MicroHTTP
import SessionJournal
import Sessions

/// The connection of this server to other nodes: it asks them and recognizes their requests.
package final class NodeLink: Sendable {
    /// This node.
    package let node: NodeID
    /// Asks other nodes.
    package let client: PeerClient
    private let endpoints = NodeEndpoints()
    private let key: NodeKey
    private let time: TimeSource
    private let logger: Logger?
    private let (late, misdirected, unproven) = (RareWarning(), RareWarning(), RareWarning())

    /// - Parameter node: this one's name in the journal.
    init(
        _ node: NodeID, _ transport: any PeerTransport, _ environment: SessionEnvironment, logger: Logger? = nil
    ) {
        (self.node, time, self.logger) = (node, environment.time, logger)
        key = NodeKey(environment.journal, environment.time)
        client = PeerClient(node, transport, key, environment.time)
    }

    /// Has what other nodes ask for done by `requests` from now on.
    package func connect(_ requests: any NodeRequests) { endpoints.connect(requests) }

    /// Reads the key again that requests between nodes are proven by. Called every few seconds.
    func refreshKey() { key.refresh() }

    /// Judges the head of a request with a stamp.
    ///
    /// - Parameter judge: judges it as the server's endpoints do. The head that it is given has the client's address.
    func receive(_ head: RequestHead, _ judge: (RequestHead, RequestSender) -> HeadVerdict) -> HeadVerdict {
        // Nothing can be proven before the journal has said its secret.
        guard let seal = key.known else { return judge(head, .unproven) }
        switch seal.open(head, at: node, now: time.sinceEpoch()) {
        case .bad:
            warn(
                unproven, "Requests said that they come from a node and did not prove it.",
                ["from": "\(head.peer)"])
            return judge(head, .unproven)
        case .outOfTime(let age):
            warn(
                late,
                "Requests of other nodes are older than they may be, or from later: the nodes' clocks differ, or somebody repeats requests.",
                ["seconds": "\(age.components.seconds)"])
            return judge(head, .unproven)
        case .misdirected(let stamp):
            warn(
                misdirected,
                "Requests of other nodes are meant for another one: a node that was at this address before, or somebody repeats requests.",
                ["from": "\(stamp.node.number)", "for": "\(stamp.receiver.number)"])
            let problem = Problem(.misdirected, "The request is meant for another node.")
            return .refuse(problem.response(instance: head.path))
        case .good(let stamp):
            let head = RequestHead(
                method: head.method, path: head.path, query: head.query, isHTTP10: head.isHTTP10,
                fields: head.fields, peer: stamp.client)
            switch endpoints.answer(to: head, from: stamp.node) ?? judge(head, .node) {
            case .refuse(let response): return .refuse(response)
            case .accept(let bodyLimit, let handle):
                return .accept(bodyLimit: bodyLimit) { body, send in
                    guard NodeSeal.hash(body) == stamp.bodyHash else {
                        let problem = Problem(.badRequest, "The body is not the one that its node sent.")
                        return send(problem.response(instance: head.path))
                    }
                    handle(body, send)
                }
            }
        }
    }

    private func warn(_ warning: RareWarning, _ message: Logger.Message, _ details: Logger.Metadata) {
        guard let count = warning.note(at: time.monotonic()) else { return }
        logger?.warning(message, metadata: details.merging(["requests": "\(count)"]) { $1 })
    }
}
