import Sessions

/// Problem types of requests before a session or feature is involved.
extension ProblemType {
    static let ofRequests = [
        badRequest, invalidJSON, notFound, methodNotAllowed, notAcceptable, requestTimeout, wrongHost,
        bodyTooLarge, unsupportedMediaType, headTooLarge, invalidBody, endpointFailed,
        unknownTransferCoding, unauthorized, identityRejected, identityExpired, identityRequired,
        otherIdentity, otherSession, identityUnavailable, crossSite, sessionNotFound, sessionEnded,
    ]

    static let badRequest = ProblemType(
        "bad-request", 400, "The request cannot be read",
        meaning: "The request breaks the grammar of HTTP, or one of its header fields or query parameters is "
            + "malformed. The detail says which.",
        remedy: "Correct the request. The same request gets the same answer.")

    static let invalidJSON = ProblemType(
        "invalid-json", 400, "The body is not JSON",
        meaning: "The body breaks the grammar of JSON (RFC 8259), names a member twice, or nests too deep. The detail "
            + "gives the byte at which reading stopped.",
        remedy: "Send one JSON object in UTF-8.",
        errors: [ErrorText(.malformed)])

    static let notFound = ProblemType(
        "not-found", 404, "Unknown path",
        meaning: "No resource has this path. Paths are compared byte for byte, so a slash at the end matters.",
        remedy: "Compare the path with /openapi.yaml, which lists every path.")

    static let methodNotAllowed = ProblemType(
        "method-not-allowed", 405, "Unknown method for this path",
        meaning: "The path is known, but not with this method. `Allow` lists the methods.",
        remedy: "Use one of the methods in `Allow`.")

    static let notAcceptable = ProblemType(
        "not-acceptable", 406, "A stream is text/event-stream",
        meaning: "The request's `Accept` excludes `text/event-stream`, the only media type of a stream.",
        remedy: "Send `Accept: text/event-stream`, or leave the field out.")

    static let requestTimeout = ProblemType(
        "request-timeout", 408, "The request took too long to arrive",
        meaning: "The body did not arrive within the time that the server allows.",
        remedy: "Send the request again on a new connection. With an `Idempotency-Key` an intent runs at most once.")

    static let wrongHost = ProblemType(
        "wrong-host", 421, "Unknown host",
        meaning:
            "`Host` is none of the server's addresses: the name of its `--public-url`, loopback names, the address "
            + "that the request came to, and the address at which other nodes reach the server.",
        remedy: "Use one of these addresses. Start the server with the `--public-url` that browsers use, and let "
            + "proxies pass `Host` on unchanged.")

    static let bodyTooLarge = ProblemType(
        "body-too-large", 413, "The body is too large",
        meaning: "The body has more bytes than the server accepts.",
        remedy: "Send a smaller body; or start the server with a larger `--body-limit`.",
        isLimit: true)

    static let unsupportedMediaType = ProblemType(
        "unsupported-media-type", 415, "The body must be application/json",
        meaning: "The body's `Content-Type` is missing or is another type, or the body has a `Content-Encoding`.",
        remedy: "Send JSON, not compressed, with `Content-Type: application/json`.")

    static let headTooLarge = ProblemType(
        "head-too-large", 431, "The header fields are too large",
        meaning: "The request line and the header fields together have more bytes than the server accepts.",
        remedy: "Send fewer or shorter fields, usually fewer cookies; or start the server with a larger "
            + "`--head-limit`.",
        isLimit: true)

    static let invalidBody = ProblemType(
        "invalid-body", 422, "The body is invalid",
        meaning: "The body is JSON, but not of the form that this endpoint takes. `errors` says what is wrong at which "
            + "place.",
        remedy: "Correct the body.")

    static let endpointFailed = ProblemType(
        "endpoint-failed", 500, "The endpoint failed",
        meaning: "The code of a custom endpoint threw.",
        remedy: "See the server's log.")

    static let unknownTransferCoding = ProblemType(
        "unknown-transfer-coding", 501, "Unknown transfer coding",
        meaning: "The body comes in a `Transfer-Encoding` other than `chunked`.",
        remedy: "Send the body with a `Content-Length`, or chunked.")
}

/// Problem types of credentials and identities.
extension ProblemType {
    static let unauthorized = ProblemType(
        "unauthorized", 401, "A credential is required",
        meaning: "The request carries no credential, or one that no session can have.",
        remedy: "Make a session with `POST /sessions` and send its token as `Authorization: Bearer <token>`, or let "
            + "the browser send the cookie.")

    static let identityRejected = ProblemType(
        "identity-rejected", 401, "The identity was rejected",
        meaning:
            "The client's proof of identity, such as a JWT, is missing or not valid; or a trusted proxy names another "
            + "subject than the session's.",
        remedy: "Sign in at the issuer again and send the new proof.")

    static let identityExpired = ProblemType(
        "identity-expired", 401, "The identity has expired",
        meaning: "The proof of the session's signed-in subject has expired. The session is unchanged.",
        remedy: "Get a new proof from the issuer and send it with `PUT /sessions/current/identity`.",
        errors: [ErrorText(.identityExpired)])

    static let identityRequired = ProblemType(
        "identity-required", 401, "Sign-in is required",
        meaning: "The server has no anonymous sessions.",
        remedy: "Send an `identity` with `POST /sessions`, or with `PUT /sessions/current/identity`.")

    static let otherIdentity = ProblemType(
        "other-identity", 409, "Another subject is signed in",
        meaning: "The session belongs to another subject than the one of the identity.",
        remedy: "End the session, or delete its credential, and make another session with `POST /sessions`.",
        errors: [ErrorText(.otherIdentity)])

    static let otherSession = ProblemType(
        "other-session", 409, "The request names another session",
        meaning: "`MVI-Session` names another session than the credential does: in a browser another user may have "
            + "signed in. The request was not served, and its `Intent-Seq` was not used.",
        remedy: "Do not repeat the request with this credential. `GET /sessions/current` says which session the "
            + "credential has.")

    static let identityUnavailable = ProblemType(
        "identity-unavailable", 503, "The identity cannot be checked now",
        meaning: "A source that is needed to check identities, such as the issuer's keys, is not available.",
        remedy: "Wait as long as `Retry-After` says, then try again.")

    static let crossSite = ProblemType(
        "cross-site", 403, "Cross-site requests are refused",
        meaning: "The browser says that the request comes from a page of another origin, and that origin is not on "
            + "the server's list.",
        remedy: "Start the server with the page's origin in `--allowed-origins`, or with the `--public-url` under "
            + "which browsers reach it.")

    static let sessionNotFound = ProblemType(
        "session-not-found", 404, "There is no such session",
        meaning: "The credential is well formed but names no session: the session has expired, or the server has lost "
            + "it.",
        remedy: "Make a new session with `POST /sessions`.")

    static let sessionEnded = ProblemType(
        "session-ended", 404, "The session was ended",
        meaning: "The session was deleted a short time ago, for example in another window.",
        remedy: "Make a new session with `POST /sessions` if the user wants to continue.",
        errors: [
            ErrorText(.signedOut), ErrorText(.gone, text: "The session ended during the request."),
        ])
}
