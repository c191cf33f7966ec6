import Sessions

/// The problems of several nodes.
extension ProblemType {
    /// Those that clients see.
    static let ofNodes = [
        ownerUnreachable
    ]

    static let ownerUnreachable = ProblemType(
        "owner-unreachable", 503, "The session is on its way to another server",
        meaning:
            "Work of the session runs on one of several servers, which cannot be reached now: it is stopping, or gone, and "
            + "another one takes the session over within some seconds. The request was not served.",
        remedy: "Wait as long as `Retry-After` says and repeat the request.",
        errors: [
            ErrorText(
                .elsewhere, text: "The session's work runs on another server; the request was not served.",
                retryAfter: .seconds(1))
        ])

    /// Nodes alone see it, clients never: so it is none of `all`, and has no page.
    static let misdirected = ProblemType(
        "misdirected", 421, "Another node owns the session",
        meaning: "A node sent on a request for a session that this node does not own, or no longer.",
        remedy: "Ask the journal who owns it.")
}
