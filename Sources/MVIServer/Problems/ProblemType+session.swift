/// What may be wrong with who asks.
extension ProblemType {
    static let unauthorized = ProblemType(
        "unauthorized", 401, "A session's credential is needed",
        meaning: "The request carries no credential, or one that no session could ever have had.",
        remedy: "Make a session with `POST /sessions` and send its token as `Authorization: Bearer <token>`, or let "
            + "the browser send the cookie.")

    static let crossSite = ProblemType(
        "cross-site", 403, "Pages of other sites may not do this",
        meaning: "The browser says that the request comes from a page of another origin, and that origin is not on "
            + "the server's list.",
        remedy: "Start the server with the page's origin in `--allowed-origins`, or with the `--public-url` under "
            + "which browsers reach it.")

    static let sessionNotFound = ProblemType(
        "session-not-found", 404, "There is no such session",
        meaning: "The credential is well formed and names no session: it has expired, or the server has lost it.",
        remedy: "Make a new session with `POST /sessions`.")

    static let sessionEnded = ProblemType(
        "session-ended", 404, "The session was ended",
        meaning: "The session was deleted a short time ago, perhaps in another window.",
        remedy: "Make a new session with `POST /sessions` if the user wants to go on.")
}
