import Sessions

/// The problems of reached limits.
extension ProblemType {
    /// All of them.
    static let ofLimits = [
        tooManyRequests, tooManyConnections, tooManyStores, tooManyReceipts, tooManyWaits,
        tooManySessions, tooManyStreams, busy, draining, notReady, journalUnavailable, newerState,
        storageFull, stateTooLarge,
    ]

    static let tooManyRequests = ProblemType(
        "too-many-requests", 429, "Too often",
        meaning:
            "The session has sent intents, or its address made sessions, signed in or sent tokens of no session, faster than "
            + "the server allows, which `RateLimit-Policy` then says; or a rule of the feature says that the intent comes "
            + "too soon after others.",
        remedy: "Wait as long as `Retry-After` says.",
        isLimit: true, errors: [ErrorText(.tooMany, retryAfter: .seconds(1))])

    static let tooManyConnections = ProblemType(
        "too-many-connections", 429, "Too many connections of one address",
        meaning:
            "The client's address has too many connections, or streams; or its network has most while few are left.",
        remedy: "Close those that are not used. If a proxy is in front, the server has to be told: `--trusted-proxy`.",
        isLimit: true)

    static let tooManyStores = ProblemType(
        "too-many-stores", 429, "The session has too many stores",
        meaning: "The session has as many feature instances as one session may have, and the request needs one more.",
        remedy: "Dispose of one that is no longer shown with `DELETE /features/<id>/state`.",
        isLimit: true, errors: [ErrorText(.tooManyStores)])

    static let tooManyReceipts = ProblemType(
        "too-many-receipts", 429, "Too many named intents in a short time",
        meaning: "The session has as many receipts of `Idempotency-Key` and `Intent-Seq` as the server keeps, all of "
            + "them too young to be forgotten.",
        remedy: "Wait as long as `Retry-After` says, or send intents whose repetition does no harm without a key.",
        isLimit: true,
        errors: [
            ErrorText(
                .tooManyReceipts, text: "The session has as many recent idempotency keys as the server keeps.",
                retryAfter: .seconds(1))
        ])

    static let tooManyWaits = ProblemType(
        "too-many-waits", 429, "Too many requests are waiting",
        meaning: "Too many requests are already waiting for a change of state.",
        remedy: "Let the earlier ones end first, or use a stream.",
        isLimit: true,
        errors: [ErrorText(.tooManyWaits, text: "Too many requests are already waiting.", retryAfter: .seconds(1))])

    static let tooManySessions = ProblemType(
        "too-many-sessions", 503, "The server has no room for another session",
        meaning: "As many sessions as the server may have in memory are in use, or it keeps as many as it may, and the "
            + "request needs one more: a new one, or one in which nothing has happened yet.",
        remedy: "Wait as long as `Retry-After` says; or start the server with a larger `--max-sessions` or "
            + "`--max-kept-sessions`.",
        isLimit: true,
        errors: [
            ErrorText(
                .tooManySessions, text: "The server has as many sessions as it may have.", retryAfter: .seconds(60))
        ])

    static let tooManyStreams = ProblemType(
        "too-many-streams", 503, "The server has no room for another stream",
        meaning: "The server has as many streams open as it may.",
        remedy: "Wait as long as `Retry-After` says; or start the server with a larger `--max-streams`.",
        isLimit: true,
        errors: [
            ErrorText(
                .tooManyStreams, text: "The server has as many streams open as it may have.", retryAfter: .seconds(10))
        ])

    static let busy = ProblemType(
        "busy", 503, "The server has too much to do",
        meaning: "Too many requests wait for the same store, too many connections are open, or the answer was not "
            + "ready in time.",
        remedy: "Wait as long as `Retry-After` says and repeat the request, an intent with its `Idempotency-Key` or "
            + "`Intent-Seq`.",
        isLimit: true,
        errors: [
            ErrorText(.busy, text: "Too many intents are already waiting in this session.", retryAfter: .seconds(1))
        ])

    static let draining = ProblemType(
        "draining", 503, "The server is stopping",
        meaning: "The server ends the requests that it has and takes no new work.",
        remedy: "Wait as long as `Retry-After` says and try again: another server, or this one again, will be there.")

    static let notReady = ProblemType(
        "not-ready", 503, "The server cannot do its work now",
        meaning: "What sessions are kept in cannot be written, or a part of the server does not answer.",
        remedy: "Send no requests to this server until it is ready again; look into its log.")

    static let journalUnavailable = ProblemType(
        "journal-unavailable", 503, "What sessions are kept in cannot be used now",
        meaning: "A session or a store could not be read, or a change not be written. Nothing is lost that was "
            + "answered before; an intent that gets this did not run, or it is not known whether it did.",
        remedy:
            "Wait as long as `Retry-After` says and repeat the request: an intent with the same `Idempotency-Key` or "
            + "`Intent-Seq`, so that it runs once in either case.",
        errors: [
            ErrorText(
                .unavailable, .closed, .exists, .inDoubt, text: "The journal cannot be used now; try again.",
                retryAfter: .seconds(2)),
            ErrorText(
                .contended, text: "Others changed the same session again and again; try again.", retryAfter: .seconds(1)
            ),
            ErrorText(
                .evicted, text: "The session left memory while the request was under way; try again.",
                retryAfter: .seconds(1)), ErrorText(.signingIn, retryAfter: .seconds(1)),
        ])

    static let newerState = ProblemType(
        "newer-state", 503, "A newer version of the server wrote this state",
        meaning: "This server's version of the feature is older than the one that wrote the state of the store. It "
            + "leaves the state as it is; the request did not run.",
        remedy: "Wait as long as `Retry-After` says and repeat the request: behind a load balancer a newer server may "
            + "answer. Where none is there any more, start the newer version again.",
        errors: [
            ErrorText(.newerState, retryAfter: .seconds(10)) {
                "The state of \"\($0)\" was written by a newer version of this server; try again later."
            }
        ])

    static let storageFull = ProblemType(
        "storage-full", 507, "The server's disk is full",
        meaning: "There was no room to keep the change. Nothing of it was kept; what was kept before can still be "
            + "read.",
        remedy: "Free room on the server, then repeat the request, an intent with the same `Idempotency-Key` or "
            + "`Intent-Seq`. The server goes on by itself.",
        isLimit: true, errors: [ErrorText(.full, text: "The journal has no room left.")])

    static let stateTooLarge = ProblemType(
        "state-too-large", 507, "The state has grown too large",
        meaning: "The state that the intent leads to, or its labels together, have more bytes than the server keeps; "
            + "`detail` says which. Nothing of the turn was kept.",
        remedy: "Remove something from the state; or start the server with a larger `--max-state-bytes`, or for labels "
            + "`--outbox-bytes`.",
        isLimit: true, errors: [ErrorText(.tooLarge)])
}
