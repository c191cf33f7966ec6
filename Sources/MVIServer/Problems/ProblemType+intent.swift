import Sessions

/// Problem types of features and intents.
extension ProblemType {
    static let ofIntents = [
        featureNotFound, intentInProgress, outOfSequence, receiptExpired, storeDisposed,
        preconditionFailed, invalidIntent, idempotencyKeyReused, intentRefused, forbidden,
        targetNotFound, intentConflict, intentLimited, checkTimeout, intentFailed, stateUnavailable,
    ]

    static let featureNotFound = ProblemType(
        "feature-not-found", 404, "There is no such feature",
        meaning: "No feature has this name, a required key is missing, a key was given to a feature without keys, or "
            + "the key does not exist.",
        remedy: "Compare the id with `GET /features`. A feature with a key is written `name:key`.",
        errors: [ErrorText(.featureNotFound, .noStore)])

    static let intentInProgress = ProblemType(
        "intent-in-progress", 409, "The intent is not committed yet",
        meaning: "The intent with this `Idempotency-Key` or `Intent-Seq` was accepted and is not committed yet.",
        remedy: "Wait as long as `Retry-After` says, then repeat the request. It is answered from the receipt.",
        errors: [
            ErrorText(
                .receiptPending, text: "The intent with this `Idempotency-Key` or `Intent-Seq` is not committed yet.",
                retryAfter: .seconds(1))
        ])

    static let outOfSequence = ProblemType(
        "out-of-sequence", 409, "Intents with smaller numbers are missing",
        meaning:
            "The intent's `Intent-Seq` is not the next one of its `Intent-Epoch`; `Expected-Seq` is. The intent did "
            + "not run, and its number was not used.",
        remedy: "Send the intents from `Expected-Seq` on, each after the answer to the one before; or begin a new "
            + "`Intent-Epoch` at 1.",
        errors: [ErrorText(.outOfSequence, text: "This is not the next `Intent-Seq` of its `Intent-Epoch`.")])

    static let receiptExpired = ProblemType(
        "receipt-expired", 409, "The receipt has expired",
        meaning: "The `Intent-Seq` was used before, and its receipt has expired. The intent did not run again.",
        remedy:
            "Read the state to see whether the intent took effect. Continue with the next unused number, or with a new "
            + "`Intent-Epoch`.",
        errors: [
            ErrorText(
                .receiptExpired, text: "This `Intent-Seq` was used, and its receipt has expired.")
        ])

    static let storeDisposed = ProblemType(
        "store-disposed", 410, "The feature's store was disposed",
        meaning: "The store was disposed while the intent waited for its turn. The intent did not run.",
        remedy: "Send the intent again if the user still wants it; this makes a new store.",
        errors: [ErrorText(.disposed) { "The store of \"\($0)\" was disposed." }])

    static let preconditionFailed = ProblemType(
        "precondition-failed", 412, "The state has changed",
        meaning: "The state does not have any of the versions in `If-Match`. The intent did not run.",
        remedy: "Read the state, then send the intent with the new `ETag` if it still applies.",
        errors: [ErrorText(.preconditionFailed) { "The state of \"\($0)\" has none of the tags in `If-Match`." }])

    static let invalidIntent = ProblemType(
        "invalid-intent", 422, "The intent is invalid",
        meaning: "The body is JSON, but not an object with a known `type` and the members of that type. `errors` lists "
            + "each invalid place.",
        remedy: "Compare the body with the examples at `GET /features/<name>`.",
        errors: [
            ErrorText(.mismatch) { "The body is not an intent of \"\($0.name)\"; see `errors`." },
            ErrorText(.unknownIntent) { "The feature \"\($0.name)\" has no such intent." },
        ])

    static let idempotencyKeyReused = ProblemType(
        "idempotency-key-reused", 422, "The key or number was used for another intent",
        meaning:
            "The `Idempotency-Key` was used for an intent with another body to the same feature, or the `Intent-Seq` "
            + "for an intent with another body or of another feature.",
        remedy: "Use a new key or the next number for each intent, and the same one only to repeat a request.",
        errors: [
            ErrorText(.receiptConflict, text: "This `Idempotency-Key` or `Intent-Seq` was used with another body.")
        ])

    static let intentRefused = ProblemType(
        "intent-refused", 422, "The feature refused the intent",
        meaning: "The intent is well formed, but a rule of the feature refuses it in the current state.",
        remedy: "Read the detail and the `code`; the feature's author wrote both.",
        errors: [ErrorText(.refused)])

    static let forbidden = ProblemType(
        "forbidden", 403, "The feature does not allow this",
        meaning: "A rule of the feature does not allow the caller to do this, or to use the feature at all.",
        remedy: "Read the detail; the feature's author wrote it.",
        errors: [ErrorText(.forbidden)])

    static let targetNotFound = ProblemType(
        "target-not-found", 404, "The intent's target does not exist",
        meaning: "The intent is well formed, but a rule of the feature says that its target does not exist.",
        remedy: "Read the detail and the `code`; the feature's author wrote both.",
        errors: [ErrorText(.notFound)])

    static let intentConflict = ProblemType(
        "intent-conflict", 409, "The intent conflicts with an earlier change",
        meaning: "The intent is well formed, but a rule of the feature says that it conflicts with an earlier change. "
            + "The intent did not run.",
        remedy: "Read the state and the `code`, which the feature's author wrote, and let the user decide again.",
        errors: [ErrorText(.conflict)])

    static let intentLimited = ProblemType(
        "intent-limited", 429, "The feature limits this intent",
        meaning: "The intent is well formed, but a rule of the feature limits how often it runs. It did not run.",
        remedy: "Read the `code`, which the feature's author wrote, and tell the user. It may run after `Retry-After`.",
        errors: [ErrorText(.tooMany, retryAfter: .seconds(1))])

    static let checkTimeout = ProblemType(
        "check-timeout", 503, "The feature's check timed out",
        meaning: "Before the intent could run, the feature called another service, which did not answer in time. The "
            + "intent did not run.",
        remedy: "Wait as long as `Retry-After` says, then send the intent again with its `Idempotency-Key`.",
        errors: [ErrorText(.checkTimeout, retryAfter: .seconds(2))])

    static let intentFailed = ProblemType(
        "intent-failed", 500, "The feature failed",
        meaning: "The feature's own code threw while it handled the intent. The turn was discarded, and the feature "
            + "keeps running.",
        remedy: "Look for the intent's id in the server's log.",
        errors: [ErrorText(.failed, text: "The feature failed. The turn was discarded; see the server's log.")])

    static let stateUnavailable = ProblemType(
        "state-unavailable", 500, "The feature's state cannot be shown",
        meaning: "The feature produced a state or a label that cannot be written as JSON, such as a number that is "
            + "not finite.",
        remedy: "Look for the feature in the server's log; its author has to correct it.",
        errors: [
            ErrorText(.notEncodable, .invalid) {
                "\"\($0)\" produced a state or label that JSON cannot hold. The turn was discarded."
            }, ErrorText(.notMade) { "The store of \"\($0)\" could not be made; see the server's log." },
        ])
}
