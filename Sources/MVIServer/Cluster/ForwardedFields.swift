import MicroHTTP

/// The fields of a client's request that are forwarded to another node: those that endpoints read.
///
/// The fields of proxies are not among them, since the stamp has the client's address.
enum ForwardedFields {
    /// The fields for the caller's credential and the browser's page.
    static let ofCaller = ["host", "authorization", "cookie", "mvi-session", "origin", "sec-fetch-site"]
    /// All fields, in the order of the stamp.
    static let all =
        ofCaller + [
            "content-type", "content-encoding", "idempotency-key", "intent-seq", "intent-epoch", "if-match", "prefer",
        ]
    /// The fields for traces and logs. The stamp does not cover them, because older nodes do not know them and nothing
    /// depends on them.
    static let ofTrace = ["traceparent", "tracestate", "x-request-id"]

    /// Returns a request's fields with these names.
    static func select(_ names: [String], from fields: HeaderFields) -> [(name: String, value: String)] {
        let sent = fields.all.map { (name: $0.name.lowercased(), value: $0.value) }
        return names.flatMap { name in sent.filter { $0.name == name } }
    }
}
