import MVI
import MicroHTTP
import Networks
import SessionJournal
import Sessions

/// Sends this node's requests to other nodes, with a stamp.
package struct PeerClient: Sendable {
    /// This node's lease, which owns its id: a node that lost its lease joins again with another id.
    private let lease: NodeLease
    private let transport: any PeerTransport
    private let key: NodeKey
    private let time: TimeSource
    /// The most bytes of a list in a request.
    var bodyLimit = NodeEndpoints.bodyLimit

    init(_ lease: NodeLease, _ transport: any PeerTransport, _ key: NodeKey, _ time: TimeSource) {
        (self.lease, self.transport, self.key, self.time) = (lease, transport, key, time)
    }

    /// Sends the stores that streams of this node show, in several requests if they are many.
    package func send(watched sessions: [WatchedSession], to receiver: NodeRecord) async throws(PeerError) {
        for body in WatchersMessage.bodies(sessions, limit: bodyLimit) {
            let answer = try await ask(NodeEndpoints.watchers, body, of: receiver)
            guard answer.status == 204 else { throw Self.unexpected(answer) }
        }
    }

    /// Sends the clients that look at stores on this node, in several requests if they are many.
    package func send(present reports: [PresenceReport], to receiver: NodeRecord) async throws(PeerError) {
        for body in PresenceMessage.bodies(reports, limit: bodyLimit) {
            let answer = try await ask(NodeEndpoints.presence, body, of: receiver)
            guard answer.status == 204 else { throw Self.unexpected(answer) }
        }
    }

    /// Sends a message to the node on which its receiver's turns run.
    ///
    /// - Parameter token: the hash of the receiver's first token.
    package func send(
        _ message: ToldMessage, to token: TokenHash, on owner: NodeRecord
    ) async throws(PeerError) -> TurnOutcome {
        let answer = try await ask(NodeEndpoints.messages, LogMessage.body(message, to: token), of: owner)
        guard answer.status == 200, let outcome = LogMessage.outcome(answer.body) else { throw Self.unexpected(answer) }
        return outcome
    }

    /// Asks a node to give up a session. Returns false if that node does not own it.
    ///
    /// - Parameter token: the hash of the session's first token.
    package func askToGiveAway(_ token: TokenHash, from owner: NodeRecord) async throws(PeerError) -> Bool {
        let answer = try await ask(NodeEndpoints.giveAway, GiveAwayMessage.body(token), of: owner)
        switch answer.status {
        case 204: return true
        case 409: return false
        default: throw Self.unexpected(answer)
        }
    }

    private func ask(_ path: String, _ body: [UInt8], of receiver: NodeRecord) async throws(PeerError) -> PeerResponse {
        let request = PeerRequest(
            method: "POST", target: path, fields: [("content-type", "application/json")], body: body,
            timeout: .seconds(5), longestAnswer: 65_536)
        return try await send(request, for: .unknown, to: receiver)
    }

    private static func unexpected(_ answer: PeerResponse) -> PeerError {
        PeerError(.unknown, "the node answered \(answer.status)")
    }

    /// Sends a request with this node's stamp. Sends nothing while the node has no lease.
    ///
    /// - Parameters:
    ///   - client: the address of the request's client.
    ///   - unsealed: fields that the stamp does not cover.
    func send(
        _ request: PeerRequest, for client: PeerAddress, unsealed: [(name: String, value: String)] = [],
        to receiver: NodeRecord
    ) async throws(PeerError) -> PeerResponse {
        let seal: NodeSeal
        do { seal = try await key.seal() } catch {
            throw PeerError(.notSent, "the journal's secret cannot be read: \(error)")
        }
        guard let node = lease.id else { throw PeerError(.notSent, "this node has not joined the others") }
        var request = request
        // The transport would add it, but the stamp covers it.
        if !request.fields.contains(where: { $0.name == "host" }) {
            request.fields.insert(("host", receiver.address), at: 0)
        }
        let (seconds, rest) = time.sinceEpoch().components
        let stamp = NodeStamp(
            node: node, receiver: receiver.id, time: seconds * 1_000 + rest / 1_000_000_000_000_000, client: client,
            bodyHash: NodeSeal.hash(request.body))
        let value = seal.seal(stamp, method: request.method, target: request.target, fields: request.fields)
        request.fields.append((NodeStamp.shownField, value))
        request.fields += unsealed
        return try await transport.send(request, to: receiver.address)
    }

    /// Closes all connections.
    func close() async { await transport.close() }
}
