import Locking
import MicroHTTP
import SessionJournal
import Sessions

/// `/nodes/`: the endpoints for other nodes. For other callers they do not exist.
final class NodeEndpoints: Sendable {
    static let watchers = "/nodes/watchers"
    static let giveAway = "/nodes/give-away"
    static let presence = "/nodes/presence"
    static let messages = "/nodes/messages"
    /// The maximal size of a body: more than one session's stores, one store's clients, or a message need.
    static let bodyLimit = 1 << 20

    private let requests = Lock<(any NodeRequests)?>(nil)

    /// Sets the handler of requests. Until then they are answered with 503.
    func connect(_ requests: any NodeRequests) { self.requests.withLock { $0 = requests } }

    /// The verdict on a request's head; nil for another path.
    func answer(to head: RequestHead, from node: NodeID) -> HeadVerdict? {
        let read: (@Sendable ([UInt8]) -> Order?)
        switch (head.method, String(decoding: head.path, as: UTF8.self)) {
        case ("POST", Self.watchers): read = { WatchersMessage.read($0).map { .watched($0) } }
        case ("POST", Self.presence): read = { PresenceMessage.read($0).map { .present($0) } }
        case ("POST", Self.giveAway): read = { GiveAwayMessage.read($0).map { .giveAway($0) } }
        case ("POST", Self.messages): read = { LogMessage.read($0).map { .deliver($0, to: $1) } }
        default: return nil
        }
        return .accept(bodyLimit: Self.bodyLimit) { [self] body, send in
            guard let order = read(body) else { return send(Self.response(400)) }
            guard let requests = requests.withLock({ $0 }) else { return send(Self.response(503)) }
            Task {
                switch order {
                case .watched(let sessions):
                    await requests.watched(by: node, sessions)
                    send(Self.response(204))
                case .present(let reports):
                    await requests.present(on: node, reports)
                    send(Self.response(204))
                case .deliver(let message, let token):
                    let outcome = await requests.deliver(message, to: token)
                    send(Self.response(200, .bytes(LogMessage.answer(outcome))))
                case .giveAway(let token):
                    send(Self.response(await requests.giveAway(session: token) ? 204 : 409))
                }
            }
        }
    }

    private enum Order: Sendable {
        case watched([WatchedSession])
        case present([PresenceReport])
        case deliver(ToldMessage, to: TokenHash)
        case giveAway(TokenHash)
    }

    /// In most cases without a body, since no person reads it.
    private static func response(_ status: Int, _ body: Response.Body = .empty) -> Response {
        Response(
            status: status, fields: [ResponseField("Cache-Control", "no-store"), AnswerFields.noSniff], body: body)
    }
}
