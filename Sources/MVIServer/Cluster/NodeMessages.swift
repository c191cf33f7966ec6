import MVI
import SessionJournal
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
        var bodies: [[UInt8]] = []
        var parts: [[UInt8]] = []
        var size = 0
        func close() {
            guard !parts.isEmpty else { return }
            var object = JSONObject()
            object.add("sessions", array: parts)
            bodies.append(object.close())
        }
        for session in sessions {
            var object = JSONObject()
            object.add("token", NodeStamp.hex(session.token.bytes))
            object.add("features", array: session.features.map { .json($0.text) })
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
