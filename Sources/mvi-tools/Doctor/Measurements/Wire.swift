import WireJSON

/// The server's JSON that doctor reads.
enum Wire {
    /// Decodes JSON from any sender; nil if it is malformed.
    static func read<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        try? WireJSON.decode(type, from: bytes)
    }
}

struct ProblemDocument: Decodable {
    var type: String?
    var detail: String?
}

struct HealthDocument: Decodable {
    var status: String?
}

struct CreatedSession: Decodable {
    var token: String?
}

struct FeatureList: Decodable {
    struct Feature: Decodable {
        var id: String
        var keyed: Bool
    }

    var features: [Feature]
}

struct HelloEvent: Decodable {
    var heartbeat: Int
    var resumed: Bool
}

struct PingEvent: Decodable {
    /// Milliseconds since 1970 on the server.
    var t: Int64
}

struct FeatureEvent: Decodable {
    var feature: String
}

struct GoAwayEvent: Decodable {
    var reason: String
}

/// A request as it arrived at the server: `GET /diagnostics/request`.
struct RequestArrival: Decodable, Sendable {
    var http: String
    var keepsConnection: Bool
    var forwarded: String
    var client: String?
    /// True if that address is allowed to report other clients.
    var clientIsTrusted: Bool?

    init(
        http: String = "1.1", keepsConnection: Bool = true, forwarded: String = "used", client: String? = nil,
        clientIsTrusted: Bool? = nil
    ) {
        (self.http, self.keepsConnection, self.forwarded) = (http, keepsConnection, forwarded)
        (self.client, self.clientIsTrusted) = (client, clientIsTrusted)
    }
}
