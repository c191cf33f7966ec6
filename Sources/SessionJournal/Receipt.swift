/// What makes a request the same as another, inside its session.
package enum ReceiptKey: Hashable, Sendable {
    /// An `Idempotency-Key`, inside its feature instance.
    case key(String, feature: FeatureID)
    /// An `Intent-Seq`, inside its `Intent-Epoch`. The last number of an epoch is the highest that has a receipt.
    case sequence(UInt64, epoch: String)
}

/// What is remembered of a request, so that a repetition does not run again.
package struct StoredReceipt: Sendable, Hashable {
    /// What the request led to.
    package enum Outcome: Sendable, Hashable {
        /// It ran, and its store had this version afterwards.
        case ran(version: UInt64)
        /// It was refused for good: the answer's status and its body.
        case refused(status: Int, body: [UInt8])
    }

    package var key: ReceiptKey
    /// The number of the turn that it led to. No two receipts of a session have the same.
    package var number: UInt64
    /// The SHA-256 of what tells it from another request of that name, such as its body: 32 bytes.
    package var bodyHash: [UInt8]
    /// Its intent's id.
    package var intent: String
    package var outcome: Outcome
    /// Time since 1970.
    package var made: Duration

    package init(
        key: ReceiptKey, number: UInt64, bodyHash: [UInt8], intent: String, outcome: Outcome, made: Duration
    ) {
        (self.key, self.number, self.bodyHash) = (key, number, bodyHash)
        (self.intent, self.outcome, self.made) = (intent, outcome, made)
    }
}
