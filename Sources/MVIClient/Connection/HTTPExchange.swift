/// A request of the client, without the server's address.
struct HTTPRequest: Sendable, Equatable {
    var method: String
    /// The path and query, beginning with a slash.
    var target: String
    var fields: [HTTPField] = []
    var body: [UInt8] = []

    /// Returns the value of the first field with the name.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// A header field.
struct HTTPField: Sendable, Equatable {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A whole answer of the server. Field names are in lower case.
struct HTTPAnswer: Sendable, Equatable {
    var status: Int
    var fields: [String: String] = [:]
    /// The delay in `Retry-After`, counted from the answer's arrival.
    var retryAfter: Duration?
    var body: [UInt8] = []

    /// The type of the body in lower case without parameters; empty if there is none.
    var mediaType: String {
        let field = fields["content-type"] ?? ""
        return String(field.prefix { $0 != ";" }).lowercased().filter { $0 != " " }
    }

    /// True if the body is a problem document (RFC 9457).
    var hasProblem: Bool { mediaType == "application/problem+json" }
}

/// The id of a request. Events of canceled requests are ignored by it.
struct ExchangeID: Sendable, Hashable {
    let number: UInt64
}
