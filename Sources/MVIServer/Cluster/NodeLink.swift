import Logging
import MicroHTTP
import SessionJournal
import Sessions

/// The connection of this server to other nodes: sends requests to them and verifies theirs.
package final class NodeLink: Sendable {
    /// This node's lease, which owns its id.
    private let lease: NodeLease
    /// The client for requests to other nodes.
    package let client: PeerClient
    private let endpoints = NodeEndpoints()
    private let key: NodeKey
    private let time: TimeSource
    private let logger: Logger?
    private let (late, misdirected, unproven) = (RareWarning(), RareWarning(), RareWarning())

    /// Nil if the journal is not shared: then there are no other nodes.
    init?(_ transport: any PeerTransport, _ environment: SessionEnvironment, logger: Logger? = nil) {
        guard let lease = environment.lease else { return nil }
        (self.lease, time, self.logger) = (lease, environment.time, logger)
        key = NodeKey(environment.journal, environment.time)
        client = PeerClient(lease, transport, key, environment.time)
    }

    /// True if the id is this node's.
    func isOwn(_ node: NodeID) -> Bool { lease.id == node }

    /// Sets the handler of other nodes' requests.
    package func connect(_ requests: any NodeRequests) { endpoints.connect(requests) }

    /// Reads the key of requests between nodes again. Called every few seconds.
    func refreshKey() { key.refresh() }

    /// Returns the verdict on the head of a request with a stamp.
    ///
    /// - Parameter judge: returns the verdict of the server's endpoints. Its head has the client's address.
    func receive(_ head: RequestHead, _ judge: (RequestHead, RequestSender) -> HeadVerdict) -> HeadVerdict {
        // Stamps cannot be verified before the journal's secret is known.
        guard let seal = key.known else { return judge(head, .unproven) }
        switch seal.open(head, at: lease.id, now: time.sinceEpoch()) {
        case .bad:
            warn(
                unproven, "Requests with an invalid node stamp arrived.",
                ["from": "\(head.peer)"])
            return judge(head, .unproven)
        case .outOfTime(let age):
            warn(
                late,
                "Requests of other nodes are too old or too new: the nodes' clocks differ, or it is a replay.",
                ["seconds": "\(age.components.seconds)"])
            return judge(head, .unproven)
        case .misdirected(let stamp):
            warn(
                misdirected,
                "Requests are for another node: one was at this address before, or it is a replay.",
                ["from": "\(stamp.node.number)", "for": "\(stamp.receiver.number)"])
            let problem = Problem(.misdirected, "The request is for another node.")
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
                        let problem = Problem(.badRequest, "The body does not match the node's stamp.")
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
