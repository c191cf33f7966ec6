import Sessions

/// Problem types of several nodes.
extension ProblemType {
    /// The types that clients see.
    static let ofNodes = [
        ownerUnreachable
    ]

    static let ownerUnreachable = ProblemType(
        "owner-unreachable", 503, "The session is moving to another server",
        meaning:
            "The server that runs the session's work is not reachable. Another one takes the session over within some "
            + "seconds. The request was not served.",
        remedy: "Wait as long as `Retry-After` says and repeat the request.",
        errors: [
            ErrorText(
                .elsewhere, text: "Another server runs the session's work; the request was not served.",
                retryAfter: .seconds(1))
        ])

    /// Only nodes see this type. It is not in `all` and has no page.
    static let misdirected = ProblemType(
        "misdirected", 421, "Another node owns the session",
        meaning: "A node forwarded a request for a session that this node does not own.",
        remedy: "Read the owner from the journal.")
}
