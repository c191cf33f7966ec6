import MVI

/// The identity of a request inside its session.
package enum ReceiptKey: Hashable, Sendable {
    /// An `Idempotency-Key` inside its feature instance.
    case key(String, feature: FeatureID)
    /// An `Intent-Seq` inside its `Intent-Epoch`. The last number of an epoch is the highest that has a receipt.
    case sequence(UInt64, epoch: String)
}

/// The stored result of a request, so that a repetition does not run again.
package struct StoredReceipt: Sendable, Hashable {
    /// The outcome of the request.
    package enum Outcome: Sendable, Hashable {
        /// The intent ran, and its store had this version afterwards.
        case ran(version: UInt64)
        /// The intent was refused for good, with this status and body.
        case refused(status: Int, body: [UInt8])
    }

    package var key: ReceiptKey
    /// The number of the request's turn, unique among the session's receipts.
    package var number: UInt64
    /// The SHA-256, 32 bytes, of what distinguishes it from other requests with the same key, such as its body.
    package var bodyHash: [UInt8]
    /// The intent's id.
    package var intent: String
    package var outcome: Outcome
    /// The creation time, since 1970.
    package var made: Duration

    package init(
        key: ReceiptKey, number: UInt64, bodyHash: [UInt8], intent: String, outcome: Outcome, made: Duration
    ) {
        (self.key, self.number, self.bodyHash) = (key, number, bodyHash)
        (self.intent, self.outcome, self.made) = (intent, outcome, made)
    }
}
