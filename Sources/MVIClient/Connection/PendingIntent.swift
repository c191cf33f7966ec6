/// An intent that has no answer yet.
struct PendingIntent: Sendable {
    /// The client's own number for it.
    let id: UInt64
    let feature: String
    /// JSON.
    let body: [UInt8]
    /// Kept over all tries, so that the server runs the intent once.
    let key: String
    let completion: SendCompletion

    /// The time at which it is given up; set when it is enqueued.
    var deadline: Duration = .zero
    var attempts = 0
    /// Sessions that were made for it because the one before was not known.
    var renewals = 0
    /// True if it was sent for a session that is to be replaced: it runs in the next one only for the same user.
    var isOfFormerSession = false
    /// True if a try ended without an answer that says that it did not run.
    var mayHaveRun = false

    init(id: UInt64, feature: String, body: [UInt8], key: String, completion: SendCompletion = .committed) {
        self.id = id
        self.feature = feature
        self.body = body
        self.key = key
        self.completion = completion
    }
}

/// An intent that ran, whose caller waits until its store shows it.
struct ShownWait: Sendable {
    let intent: PendingIntent
    let receipt: IntentReceipt
}
