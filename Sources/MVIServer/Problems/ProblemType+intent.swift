import Sessions

/// The problems of features and intents.
extension ProblemType {
    /// All of them.
    static let ofIntents = [
        featureNotFound, intentInProgress, outOfSequence, receiptExpired, storeDisposed,
        preconditionFailed, invalidIntent, idempotencyKeyReused, intentRefused, forbidden,
        targetNotFound, intentConflict, checkTimeout, intentFailed, stateUnavailable,
    ]

    static let featureNotFound = ProblemType(
        "feature-not-found", 404, "There is no such feature",
        meaning: "No feature has this name, it takes a key and none was given, it takes none and one was given, or "
            + "there is nothing under that key.",
        remedy: "Compare the id with `GET /features`. A feature with a key is written `name:key`.",
        errors: [ErrorText(.featureNotFound, .noStore)])

    static let intentInProgress = ProblemType(
        "intent-in-progress", 409, "An intent with this name is under way",
        meaning: "The `Idempotency-Key` or `Intent-Seq` belongs to an intent that was taken and is not committed yet.",
        remedy: "Wait as long as `Retry-After` says and repeat the request: it is answered from the receipt.",
        errors: [
            ErrorText(
                .receiptPending, text: "The intent with this `Idempotency-Key` or `Intent-Seq` is not committed yet.",
                retryAfter: .seconds(1))
        ])

    static let outOfSequence = ProblemType(
        "out-of-sequence", 409, "Intents with smaller numbers are missing",
        meaning:
            "The intent's `Intent-Seq` is not the next one of its `Intent-Epoch`. `Expected-Seq` says which one is. "
            + "The intent did not run, and its number is still to come.",
        remedy: "Send the intents from `Expected-Seq` on, each after the one before was answered; or begin a new "
            + "`Intent-Epoch` at 1.",
        errors: [ErrorText(.outOfSequence, text: "Another `Intent-Seq` is to come first in this `Intent-Epoch`.")])

    static let receiptExpired = ProblemType(
        "receipt-expired", 409, "The number was used too long ago",
        meaning: "The `Intent-Seq` was used before, and the server does not remember any more what came of it. The "
            + "intent did not run again.",
        remedy:
            "Read the state to see whether the intent took effect, and go on with the number that the client has not "
            + "used, or with a new `Intent-Epoch`.",
        errors: [
            ErrorText(
                .receiptExpired, text: "This `Intent-Seq` was used, and what came of it is not remembered any more.")
        ])

    static let storeDisposed = ProblemType(
        "store-disposed", 410, "The feature's store was disposed",
        meaning: "The store was disposed while the intent was waiting for its turn. The intent did not run.",
        remedy: "Send the intent again if it is still meant: it makes a new store.",
        errors: [ErrorText(.disposed) { "The store of \"\($0)\" was disposed meanwhile." }])

    static let preconditionFailed = ProblemType(
        "precondition-failed", 412, "The state has changed meanwhile",
        meaning: "The state does not have any of the versions in `If-Match`. The intent did not run.",
        remedy: "Read the state, decide anew, and send the intent with the new `ETag`.",
        errors: [ErrorText(.preconditionFailed) { "The state of \"\($0)\" has none of the tags in `If-Match`." }])

    static let invalidIntent = ProblemType(
        "invalid-intent", 422, "The intent is not one that the feature has",
        meaning: "The body is JSON, but no object with a known `type` and the members of that type. `errors` says "
            + "what is wrong at which place.",
        remedy: "Compare the body with the examples at `GET /features/<name>`.",
        errors: [
            ErrorText(.mismatch) { "The body is not an intent of \"\($0.name)\". `errors` says what is wrong where." },
            ErrorText(.unknownIntent) { "The feature \"\($0.name)\" has no such intent." },
        ])

    static let idempotencyKeyReused = ProblemType(
        "idempotency-key-reused", 422, "The name was used for another intent",
        meaning:
            "The `Idempotency-Key` belongs to an intent with another body, sent to the same feature before; or the "
            + "`Intent-Seq` to an intent with another body or of another feature.",
        remedy: "Use a new key or the next number for each intent, and the same only to repeat the same request.",
        errors: [
            ErrorText(.receiptConflict, text: "This `Idempotency-Key` or `Intent-Seq` was used with another body.")
        ])

    static let intentRefused = ProblemType(
        "intent-refused", 422, "The feature refused the intent",
        meaning: "The intent was understood, and a rule of the feature says that it makes no sense now.",
        remedy: "Read the detail and the `code`, which the feature's author wrote.",
        errors: [ErrorText(.refused)])

    static let forbidden = ProblemType(
        "forbidden", 403, "The feature does not allow this",
        meaning: "A rule of the feature says that who asks may not do this, or may not use the feature at all.",
        remedy: "Read the detail, which the feature's author wrote.",
        errors: [ErrorText(.forbidden)])

    static let targetNotFound = ProblemType(
        "target-not-found", 404, "What the intent is about is not there",
        meaning: "The intent was understood, and a rule of the feature says that what it is about does not exist.",
        remedy: "Read the detail and the `code`, which the feature's author wrote.",
        errors: [ErrorText(.notFound)])

    static let intentConflict = ProblemType(
        "intent-conflict", 409, "The intent does not fit what has happened",
        meaning: "The intent was understood, and a rule of the feature says that something else has happened "
            + "meanwhile. It did not run.",
        remedy: "Read the state and the `code`, which the feature's author wrote, and let the user decide anew.",
        errors: [ErrorText(.conflict)])

    static let checkTimeout = ProblemType(
        "check-timeout", 503, "What the feature had to ask elsewhere was not answered in time",
        meaning: "Before the intent could run, the feature asked another service, which did not answer in time. The "
            + "intent did not run.",
        remedy: "Wait as long as `Retry-After` says and send the intent again, with its `Idempotency-Key`.",
        errors: [ErrorText(.checkTimeout, retryAfter: .seconds(2))])

    static let intentFailed = ProblemType(
        "intent-failed", 500, "The feature failed at the intent",
        meaning: "The feature's own code threw while it handled the intent. Nothing of the turn was kept, and the "
            + "feature goes on.",
        remedy: "Look for the intent's id in the server's log.",
        errors: [ErrorText(.failed, text: "The feature failed; nothing was kept. The server's log says why.")])

    static let stateUnavailable = ProblemType(
        "state-unavailable", 500, "The feature's state cannot be shown",
        meaning: "The feature produced a state or a label that cannot be written as JSON, such as a number that is "
            + "not finite.",
        remedy: "Look for the feature in the server's log; its author has to correct it.",
        errors: [
            ErrorText(.notEncodable, .invalid) {
                "\"\($0)\" produced a state or label that JSON cannot hold; nothing was kept."
            }, ErrorText(.notMade) { "The store of \"\($0)\" could not be made; the server's log says why." },
        ])
}
