import Locking
import Logging
import MicroHTTP
import SessionJournal
import Sessions

/// What makes this server one of several nodes: it asks the others, and knows their requests.
package final class NodeLink: Sendable {
    /// This node.
    package let node: NodeID
    /// Asks other nodes.
    package let client: PeerClient
    private let endpoints = NodeEndpoints()
    private let key: NodeKey
    private let time: TimeSource
    private let logger: Logger?
    private let lastWarning = Lock<Duration?>(nil)

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
        switch key.known?.open(head, now: time.sinceEpoch()) ?? .bad {
        case .bad: return judge(head, .unproven)
        case .outOfTime(let age):
            warn(age)
            return judge(head, .unproven)
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

    /// Says once a minute that clocks differ: then nothing can be sent on.
    private func warn(_ age: Duration) {
        let now = time.monotonic()
        let isDue = lastWarning.withLock { last in
            if let last, now - last < .seconds(60) { return false }
            last = now
            return true
        }
        guard isDue else { return }
        logger?.warning(
            "A request of another node is older than it may be, or from later: the nodes' clocks differ, or somebody repeats requests.",
            metadata: ["seconds": "\(age.components.seconds)"])
    }
}
