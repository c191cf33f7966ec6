import MVI
import SessionJournal
import Sessions
import WireJSON

/// The body of `POST /nodes/watchers`.
struct WatchersMessage: Codable {
    struct Session: Codable {
        /// The token's hash, in hexadecimal digits.
        var token: String
        var features: [String]
    }

    var sessions: [Session]

    /// Decodes a body; nil if it is malformed.
    static func read(_ body: [UInt8]) -> [WatchedSession]? {
        guard let message = try? WireJSON.decode(WatchersMessage.self, from: body) else { return nil }
        let sessions = message.sessions.compactMap { session -> WatchedSession? in
            let features = session.features.compactMap { FeatureID($0) }
            guard let token = NodeStamp.bytes(hex: session.token), features.count == session.features.count else {
                return nil
            }
            return WatchedSession(token: TokenHash(token), features: features)
        }
        return sessions.count == message.sessions.count ? sessions : nil
    }

    /// Returns bodies for the sessions, each with at most `limit` bytes or with one session.
    static func bodies(_ sessions: [WatchedSession], limit: Int) -> [[UInt8]] {
        MVIServer.bodies("sessions", limit: limit, sessions) { session, object in
            object.add("token", NodeStamp.hex(session.token.bytes))
            object.add("features", array: session.features.map { .json($0.text) })
        }
    }
}

/// Returns bodies with a list of objects, each with at most `limit` bytes or with one of them.
private func bodies<Value>(
    _ name: StaticString, limit: Int, _ values: [Value], _ write: (Value, inout JSONObject) -> Void
) -> [[UInt8]] {
    var bodies: [[UInt8]] = []
    var parts: [[UInt8]] = []
    var size = 0
    func close() {
        guard !parts.isEmpty else { return }
        var object = JSONObject()
        object.add(name, array: parts)
        bodies.append(object.close())
    }
    for value in values {
        var object = JSONObject()
        write(value, &object)
        let part = object.close()
        if size + part.count > limit - 32 {
            close()
            (parts, size) = ([], 0)
        }
        parts.append(part)
        size += part.count + 1
    }
    close()
    return bodies
}

/// The body of `POST /nodes/presence`: the clients that look at stores on one node.
struct PresenceMessage: Codable {
    struct Store: Codable {
        /// The hash of the session's first token, in hexadecimal digits.
        var session: String
        var feature: String
        var clients: [Client]
    }
    struct Client: Codable {
        var id: String
        /// Milliseconds since 1970.
        var since: Int64
        /// The face that others are shown of it, as JSON; nil if it is only counted.
        var shown: String?
    }

    var stores: [Store]

    /// Decodes a body; nil if it is malformed.
    static func read(_ body: [UInt8]) -> [PresenceReport]? {
        guard let message = try? WireJSON.decode(PresenceMessage.self, from: body) else { return nil }
        let reports = message.stores.compactMap { store -> PresenceReport? in
            guard let token = NodeStamp.bytes(hex: store.session), let feature = FeatureID(store.feature) else {
                return nil
            }
            let faces = store.clients.map { Face(id: $0.id, since: $0.since, shown: $0.shown.map { Array($0.utf8) }) }
            return PresenceReport(session: TokenHash(token), feature: feature, faces: faces)
        }
        return reports.count == message.stores.count ? reports : nil
    }

    /// Returns bodies for reports, each with at most `limit` bytes or with one report.
    static func bodies(_ reports: [PresenceReport], limit: Int) -> [[UInt8]] {
        MVIServer.bodies("stores", limit: limit, reports) { report, object in
            object.add("session", NodeStamp.hex(report.session.bytes))
            object.add("feature", report.feature.text)
            let clients = report.faces.map { face -> [UInt8] in
                var client = JSONObject()
                client.add("id", face.id)
                client.add("since", Int(face.since))
                if let shown = face.shown { client.add("shown", String(decoding: shown, as: UTF8.self)) }
                return client.close()
            }
            object.add("clients", array: clients)
        }
    }
}

/// The body of `POST /nodes/give-away`.
struct GiveAwayMessage: Codable {
    /// The hash of the token that the session began with, in hexadecimal digits.
    var session: String

    /// Decodes a body; nil if it is malformed.
    static func read(_ body: [UInt8]) -> TokenHash? {
        let message = try? WireJSON.decode(GiveAwayMessage.self, from: body)
        return message.flatMap { NodeStamp.bytes(hex: $0.session) }.map { TokenHash($0) }
    }

    static func body(_ session: TokenHash) -> [UInt8] {
        var object = JSONObject()
        object.add("session", NodeStamp.hex(session.bytes))
        return object.close()
    }
}

/// The body of `POST /nodes/messages`: a message of one log to another whose turns run on the asked node.
struct LogMessage: Decodable {
    /// The hash of the receiver's first token, in hexadecimal digits.
    private let session: String
    private let to: String
    private let action: JSONText
    /// The name of its teller's log in hexadecimal digits, and its number there.
    private let log: String
    private let number: UInt64
    private let by: Teller
    private let hops: Int
    private let isLastTry: Bool

    private struct Teller: Decodable {
        let session: String
        let number: UInt64
    }

    /// Decodes a body; nil if it is malformed.
    static func read(_ body: [UInt8]) -> (ToldMessage, TokenHash)? {
        guard let message = try? WireJSON.decode(LogMessage.self, from: body),
            let token = NodeStamp.bytes(hex: message.session), let feature = FeatureID(message.to),
            let log = NodeStamp.bytes(hex: message.log, count: HeardMessage.senderSize)
        else { return nil }
        let told = ToldMessage(
            to: feature, action: message.action.bytes, heard: HeardMessage(sender: log, number: message.number),
            origin: MessageOrigin(session: message.by.session, number: message.by.number, hops: message.hops),
            isLastTry: message.isLastTry)
        return (told, TokenHash(token))
    }

    static func body(_ message: ToldMessage, to session: TokenHash) -> [UInt8] {
        var by = JSONObject()
        by.add("session", message.origin.session)
        by.add("number", message.origin.number)
        var object = JSONObject(size: message.action.count + 320)
        object.add("session", NodeStamp.hex(session.bytes))
        object.add("to", message.feature.text)
        object.add("log", NodeStamp.hex(message.heard.sender))
        object.add("number", message.heard.number)
        object.add("by", json: by.close())
        object.add("hops", message.origin.hops)
        object.add("isLastTry", message.isLastTry)
        object.add("action", json: message.action)
        return object.close()
    }

    /// The answer: what became of it.
    private struct Outcome: Decodable {
        let outcome: String
        var code: String?
        var detail: String?
    }

    static func answer(_ outcome: TurnOutcome) -> [UInt8] {
        let text =
            switch outcome {
            case .ran, .replayed: "ran"
            case .refused, .unjudged: "refused"
            case .failed: "failed"
            case .elsewhere: "elsewhere"
            case .unavailable, .needsStore, .dropped: "unavailable"
            }
        var object = JSONObject()
        object.add("outcome", text)
        if let error = outcome.error {
            object.add("code", error.code.name)
            object.add("detail", error.detail)
        }
        return object.close()
    }

    /// Decodes an answer; nil if it is malformed.
    static func outcome(_ body: [UInt8]) -> TurnOutcome? {
        guard let answer = try? WireJSON.decode(Outcome.self, from: body) else { return nil }
        let code = StoreError.Code(answer.code ?? StoreError.Code.unavailable.name)
        let error = StoreError(code, answer.detail ?? "The node gave no reason.")
        return switch answer.outcome {
        case "ran": .ran
        case "refused": .refused(error)
        case "failed": .failed(error, thrown: error, nil)
        case "elsewhere": .elsewhere(error)
        case "unavailable": .unavailable(error)
        default: nil
        }
    }
}
