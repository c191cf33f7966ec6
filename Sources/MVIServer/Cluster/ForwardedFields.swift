import MicroHTTP

/// The fields of a client's request that are sent on to another node: those that the endpoints read there.
///
/// What proxies say of where the request came from is not among them: the stamp has the client's address.
enum ForwardedFields {
    /// The headers of the caller and of the page.
    static let ofCaller = ["host", "authorization", "cookie", "mvi-session", "origin", "sec-fetch-site"]
    /// All of them, in the order in which a stamp covers them.
    static let all =
        ofCaller + [
            "content-type", "content-encoding", "idempotency-key", "intent-seq", "intent-epoch", "if-match", "prefer",
        ]
    /// By which traces and logs of both nodes are one. Beside the stamp: older nodes do not know them, and nothing depends
    /// on them.
    static let ofTrace = ["traceparent", "tracestate", "x-request-id"]

    /// Those fields with these names that a request has.
    static func select(_ names: [String], from fields: HeaderFields) -> [(name: String, value: String)] {
        let sent = fields.all.map { (name: $0.name.lowercased(), value: $0.value) }
        return names.flatMap { name in sent.filter { $0.name == name } }
    }
}
