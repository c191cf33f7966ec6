/// An intent, or the disposal of a store, that has no answer yet.
struct PendingIntent: Sendable {
    /// The client's internal number of the intent.
    let id: UInt64
    let feature: String
    /// The intent as JSON; nil to dispose of the store.
    let body: [UInt8]?
    /// The idempotency key, which is the same for all attempts.
    let key: String
    let completion: SendCompletion
    /// True if its caller wants to know its progress.
    var isPredicted = false

    /// The time at which the intent is abandoned; set when it is enqueued.
    var deadline: Duration = .zero
    /// The same time since 1970, for a later run of the app.
    var until: Duration = .zero
    /// The session of an intent that an earlier run of the app kept, until it is known to be the client's.
    var owner: IntentOwner?
    var attempts = 0
    /// The number of sessions created for the intent because the previous one was unknown.
    var renewals = 0
    /// True if the intent was sent for a session that will be replaced. It runs in the next one only for the same user.
    var isOfFormerSession = false
    /// True if an attempt ended without an answer, so the intent may have run.
    var mayHaveRun = false

    init(id: UInt64, feature: String, body: [UInt8]?, key: String, completion: SendCompletion = .committed) {
        self.id = id
        self.feature = feature
        self.body = body
        self.key = key
        self.completion = completion
    }
}

/// A committed intent whose caller waits until its store shows it.
struct ShownWait: Sendable {
    let intent: PendingIntent
    let receipt: IntentReceipt
}
