import Sessions

/// Problem types of limits.
extension ProblemType {
    static let ofLimits = [
        tooManyRequests, tooManyConnections, tooManyStores, tooManyReceipts, tooManyWaits,
        tooManySessions, tooManyStreams, busy, draining, notReady, journalUnavailable, newerState,
        storageFull, tooManySpaces, tooManyAudiences, stateTooLarge,
    ]

    static let tooManyRequests = ProblemType(
        "too-many-requests", 429, "Too many requests",
        meaning:
            "The session sends intents faster than the server allows; or its address makes sessions, signs in or sends "
            + "unknown tokens too fast. `RateLimit-Policy` gives the rate.",
        remedy: "Wait as long as `Retry-After` says.",
        isLimit: true, errors: [ErrorText(.tooManyNewSpaces)])

    static let tooManyConnections = ProblemType(
        "too-many-connections", 429, "Too many connections of one address",
        meaning:
            "The client's address has too many connections or streams; or its network has most of them while few are "
            + "left.",
        remedy: "Close those that are not used. If a proxy is in front of the server, set `--trusted-proxy`.",
        isLimit: true)

    static let tooManyStores = ProblemType(
        "too-many-stores", 409, "The session has too many stores",
        meaning:
            "The session has reached its limit of feature instances, none was unused for long, and the request needs "
            + "one more; or a stream names too many.",
        remedy: "Dispose of one that is no longer shown with `DELETE /features/<id>/state`.",
        isLimit: true, errors: [ErrorText(.tooManyStores)])

    static let tooManyAudiences = ProblemType(
        "too-many-audiences", 422, "Too many audiences",
        meaning: "Streams of as many audiences as a store may have show it, and the client belongs to another one.",
        remedy: "Try again when others have left. The feature may have fewer audiences.",
        isLimit: true, errors: [ErrorText(.tooManyAudiences)])

    static let tooManyReceipts = ProblemType(
        "too-many-receipts", 429, "Too many intents with receipts",
        meaning: "The session has reached its limit of receipts of `Idempotency-Key` and `Intent-Seq`, and none is old "
            + "enough to be removed.",
        remedy: "Wait as long as `Retry-After` says. Send intents that may run twice without a key.",
        isLimit: true,
        errors: [
            ErrorText(
                .tooManyReceipts, text: "The session has too many recent idempotency keys.",
                retryAfter: .seconds(1))
        ])

    static let tooManyWaits = ProblemType(
        "too-many-waits", 429, "Too many requests are waiting",
        meaning: "Too many requests are already waiting for a change of state.",
        remedy: "Wait until earlier requests are answered, or use a stream.",
        isLimit: true,
        errors: [ErrorText(.tooManyWaits, text: "Too many requests are already waiting.", retryAfter: .seconds(1))])

    static let tooManySessions = ProblemType(
        "too-many-sessions", 503, "Too many sessions",
        meaning: "All sessions that the server may have in memory are in use, or it stores as many as it may. The "
            + "request needs one more: a new one, or one in which nothing has happened yet.",
        remedy: "Wait as long as `Retry-After` says; or start the server with a larger `--max-sessions` or "
            + "`--max-kept-sessions`.",
        isLimit: true,
        errors: [
            ErrorText(
                .tooManySessions, text: "The server has too many sessions.", retryAfter: .seconds(60))
        ])

    static let tooManyStreams = ProblemType(
        "too-many-streams", 503, "Too many streams",
        meaning: "The server has reached its limit of open streams.",
        remedy: "Wait as long as `Retry-After` says; or start the server with a larger `--max-streams`.",
        isLimit: true,
        errors: [
            ErrorText(
                .tooManyStreams, text: "Too many streams are open.", retryAfter: .seconds(10))
        ])

    static let busy = ProblemType(
        "busy", 503, "The server is overloaded",
        meaning: "Too many requests wait for the same store, too many connections are open, or the answer was not "
            + "ready in time.",
        remedy: "Wait as long as `Retry-After` says, then repeat the request: an intent with its `Idempotency-Key` or "
            + "`Intent-Seq`.",
        isLimit: true,
        errors: [
            ErrorText(.busy, text: "Too many intents are already waiting in this session.", retryAfter: .seconds(1))
        ])

    static let draining = ProblemType(
        "draining", 503, "The server is stopping",
        meaning: "The server finishes its current requests and accepts no new work.",
        remedy: "Wait as long as `Retry-After` says, then try again: another server, or this one after its restart, "
            + "will answer.")

    static let notReady = ProblemType(
        "not-ready", 503, "The server is not ready",
        meaning: "The journal is not writable, or a part of the server does not answer.",
        remedy: "Send no requests to this server until it is ready again. See its log.")

    static let journalUnavailable = ProblemType(
        "journal-unavailable", 503, "The journal is not available",
        meaning: "A session or a store could not be read, or a change could not be written. Nothing that was answered "
            + "before is lost. The outcome of an intent with this answer is unknown.",
        remedy:
            "Wait as long as `Retry-After` says, then repeat the request. An intent with the same `Idempotency-Key` or "
            + "`Intent-Seq` runs once in either case.",
        errors: [
            ErrorText(
                .unavailable, .closed, .exists, .inDoubt, text: "The journal is not available; try again.",
                retryAfter: .seconds(2)),
            ErrorText(
                .contended, text: "Too many concurrent changes of the session; try again.", retryAfter: .seconds(1)
            ),
            ErrorText(
                .evicted, text: "The session left memory during the request; try again.",
                retryAfter: .seconds(1)), ErrorText(.signingIn, retryAfter: .seconds(1)),
        ])

    static let newerState = ProblemType(
        "newer-state", 503, "A newer version of the server wrote this state",
        meaning: "This server's version of the feature is older than the one that wrote the state of the store. It "
            + "leaves the state as it is; the request did not run.",
        remedy: "Wait as long as `Retry-After` says, then repeat the request: behind a load balancer a newer server "
            + "may answer. If none is left, start the newer version again.",
        errors: [
            ErrorText(.newerState, retryAfter: .seconds(10)) {
                "The state of \"\($0)\" was written by a newer version of this server; try again later."
            }
        ])

    static let storageFull = ProblemType(
        "storage-full", 507, "The server's storage is full",
        meaning: "There was no room to keep the change. Nothing of it was kept; what was kept before can still be "
            + "read.",
        remedy: "Free room on the server, then repeat the request, an intent with the same `Idempotency-Key` or "
            + "`Intent-Seq`. The server goes on by itself.",
        isLimit: true, errors: [ErrorText(.full, text: "The journal is full.")])

    static let tooManySpaces = ProblemType(
        "too-many-spaces", 507, "Too many shared stores",
        meaning: "The server stores as many shared stores as it may, and the request needs one more.",
        remedy: "Use a key that others use already; or start the server with a larger `--max-spaces`.",
        isLimit: true, errors: [ErrorText(.tooManySpaces, text: "The server has too many shared stores.")])

    static let stateTooLarge = ProblemType(
        "state-too-large", 507, "The state has grown too large",
        meaning: "The state after the intent, or its labels together, have more bytes than the server stores; `detail` "
            + "says which. The turn was discarded.",
        remedy: "Remove something from the state; or start the server with a larger `--max-state-bytes`, or for labels "
            + "`--outbox-bytes`.",
        isLimit: true, errors: [ErrorText(.tooLarge)])
}
