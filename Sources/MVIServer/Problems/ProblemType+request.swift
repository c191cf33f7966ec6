import Sessions

/// The problems of requests, independent of sessions and features.
extension ProblemType {
    /// All of them.
    static let ofRequests = [
        badRequest, invalidJSON, notFound, methodNotAllowed, notAcceptable, requestTimeout, wrongHost,
        bodyTooLarge, unsupportedMediaType, headTooLarge, invalidBody, endpointFailed,
        unknownTransferCoding, unauthorized, identityRejected, identityExpired, identityRequired,
        otherIdentity, otherSession, identityUnavailable, crossSite, sessionNotFound, sessionEnded,
    ]

    static let badRequest = ProblemType(
        "bad-request", 400, "The request cannot be read",
        meaning: "The request breaks the grammar of HTTP, or one of its header fields or query parameters is not "
            + "written as it must be. The detail says which.",
        remedy: "Correct the request. Sending it again as it is gets the same answer.")

    static let invalidJSON = ProblemType(
        "invalid-json", 400, "The body is not JSON",
        meaning: "The body breaks the grammar of JSON (RFC 8259), names a member twice, or nests too deep. The detail "
            + "gives the byte at which reading stopped.",
        remedy: "Send one JSON object in UTF-8.",
        errors: [ErrorText(.malformed)])

    static let notFound = ProblemType(
        "not-found", 404, "There is nothing at this path",
        meaning: "No resource has this path. Paths are compared byte for byte: a slash at the end makes another path.",
        remedy: "Compare the path with /openapi.yaml, which lists every one.")

    static let methodNotAllowed = ProblemType(
        "method-not-allowed", 405, "The resource does not have this method",
        meaning: "The path is known, the method is not one of those that it takes. `Allow` lists them.",
        remedy: "Use one of the methods in `Allow`.")

    static let notAcceptable = ProblemType(
        "not-acceptable", 406, "A stream is text/event-stream",
        meaning: "The request's `Accept` excludes `text/event-stream`, and a stream is nothing else.",
        remedy: "Send `Accept: text/event-stream`, or leave the field out.")

    static let requestTimeout = ProblemType(
        "request-timeout", 408, "The request took too long to arrive",
        meaning: "The body did not arrive within the time that the server allows.",
        remedy: "Send the request again on a new connection. With an `Idempotency-Key` an intent runs once at most.")

    static let wrongHost = ProblemType(
        "wrong-host", 421, "The request was meant for another server",
        meaning:
            "`Host` names none of the server's addresses: the name of its `--public-url`, loopback names, the address "
            + "that the request came to, and the one at which other nodes reach the server.",
        remedy: "Use one of these. Start the server with the `--public-url` under which browsers reach it, and have a "
            + "proxy pass `Host` on as it came.")

    static let bodyTooLarge = ProblemType(
        "body-too-large", 413, "The body is too large",
        meaning: "The body has more bytes than the server takes.",
        remedy: "Send a smaller body; or start the server with a larger `--body-limit`.",
        isLimit: true)

    static let unsupportedMediaType = ProblemType(
        "unsupported-media-type", 415, "The body must be application/json",
        meaning: "The body's `Content-Type` is missing or another one, or it has a `Content-Encoding`.",
        remedy: "Send JSON, not compressed, with `Content-Type: application/json`.")

    static let headTooLarge = ProblemType(
        "head-too-large", 431, "The header fields are too large",
        meaning: "The request line and the header fields together have more bytes than the server takes.",
        remedy: "Send fewer or shorter fields, usually fewer cookies; or start the server with a larger "
            + "`--head-limit`.",
        isLimit: true)

    static let invalidBody = ProblemType(
        "invalid-body", 422, "The body is not what the endpoint takes",
        meaning: "The body is JSON, but not of the form that this endpoint takes. `errors` says what is wrong at which "
            + "place.",
        remedy: "Correct the body.")

    static let endpointFailed = ProblemType(
        "endpoint-failed", 500, "The endpoint failed",
        meaning: "The code of an endpoint that the server's author added threw.",
        remedy: "Look into the server's log.")

    static let unknownTransferCoding = ProblemType(
        "unknown-transfer-coding", 501, "The transfer coding is not known",
        meaning: "The body comes in a `Transfer-Encoding` other than `chunked`.",
        remedy: "Send the body with a `Content-Length`, or chunked.")
}

/// The problems of callers.
extension ProblemType {
    static let unauthorized = ProblemType(
        "unauthorized", 401, "A session's credential is needed",
        meaning: "The request carries no credential, or one that no session could ever have had.",
        remedy: "Make a session with `POST /sessions` and send its token as `Authorization: Bearer <token>`, or let "
            + "the browser send the cookie.")

    static let identityRejected = ProblemType(
        "identity-rejected", 401, "The identity is not accepted",
        meaning:
            "The proof of who the client is, such as a JWT, is missing or not good; or a trusted proxy names another "
            + "subject than the session's.",
        remedy: "Sign in at the issuer again and send what it gives.")

    static let identityExpired = ProblemType(
        "identity-expired", 401, "The identity's time is over",
        meaning: "Somebody is signed in to the session, and the proof of it has expired. Nothing is lost.",
        remedy: "Get a new proof from the issuer and send it with `PUT /sessions/current/identity`.",
        errors: [ErrorText(.identityExpired)])

    static let identityRequired = ProblemType(
        "identity-required", 401, "Somebody has to be signed in",
        meaning: "The server has no anonymous sessions.",
        remedy: "Send an `identity` with `POST /sessions`, or with `PUT /sessions/current/identity`.")

    static let otherIdentity = ProblemType(
        "other-identity", 409, "Another subject is signed in",
        meaning: "The session belongs to another subject than the one of the identity.",
        remedy: "End the session, or forget its credential, and make another with `POST /sessions`.",
        errors: [ErrorText(.otherIdentity)])

    static let otherSession = ProblemType(
        "other-session", 409, "The request is meant for another session",
        meaning: "`MVI-Session` names another session than that of the credential: in a browser another user may have "
            + "signed in meanwhile. Nothing was done, and an `Intent-Seq` was not used up.",
        remedy: "Do not repeat the request: it was meant for the session that it names. `GET /sessions/current` says "
            + "which session the credential has.")

    static let identityUnavailable = ProblemType(
        "identity-unavailable", 503, "The identity cannot be checked now",
        meaning: "What tells whether an identity is good, such as its issuer's keys, cannot be had now.",
        remedy: "Wait as long as `Retry-After` says and try again.")

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
        remedy: "Make a new session with `POST /sessions` if the user wants to go on.",
        errors: [
            ErrorText(.signedOut), ErrorText(.gone, text: "The session was ended while the request was under way."),
        ])
}
