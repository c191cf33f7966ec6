/// A request of the client's, without its server.
struct HTTPRequest: Sendable, Equatable {
    var method: String
    /// Path and query, beginning with a slash.
    var target: String
    var fields: [HTTPField] = []
    var body: [UInt8] = []

    /// The first field of that name.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// One header field.
struct HTTPField: Sendable, Equatable {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// An answer of the server's, whole. Names of fields are in lower case.
struct HTTPAnswer: Sendable, Equatable {
    var status: Int
    var fields: [String: String] = [:]
    /// The time that `Retry-After` asks for, counted from the answer's arrival.
    var retryAfter: Duration?
    var body: [UInt8] = []

    /// The type of the body without its parameters, in lower case; empty if the answer has none.
    var mediaType: String {
        let field = fields["content-type"] ?? ""
        return String(field.prefix { $0 != ";" }).lowercased().filter { $0 != " " }
    }

    /// True if the body is a problem document (RFC 9457).
    var hasProblem: Bool { mediaType == "application/problem+json" }
}

/// Names a request, so that what arrives of one that was given up is ignored.
struct ExchangeID: Sendable, Hashable {
    let number: UInt64
}
