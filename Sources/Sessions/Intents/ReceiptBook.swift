import Crypto
import DequeModule
import MVI

/// What a session remembers of the intents that came with a key, so that a repeated request never runs twice.
struct ReceiptBook {
    struct Key: Hashable {
        let feature: FeatureID
        let key: String
    }

    struct Receipt {
        let bodyHash: SHA256Digest
        let intentID: IntentID
        /// Of the store after the turn; nil until the turn is committed.
        var version: UInt64?
        /// On the monotonic clock.
        let made: Duration
    }

    enum Lookup {
        /// The key is new and reserved for the caller now.
        case reserved
        /// The intent ran; this is its receipt.
        case done(Receipt)
        /// The intent is under way.
        case pending
        /// The key was used with another body.
        case otherBody
        /// No room, and what is there is too young to go; after that time some of it is not.
        case full(retryAfter: Duration)
    }

    private var receipts: [Key: Receipt] = [:]
    /// In the order in which they were made; keys that are gone are passed over.
    private var order: Deque<(key: Key, made: Duration)> = []

    var count: Int { receipts.count }

    mutating func reserve(_ key: Key, bodyHash: SHA256Digest, now: Duration, limits: SessionLimits) -> Lookup {
        expire(now: now, life: limits.receiptLife)
        if let receipt = receipts[key] {
            guard receipt.bodyHash == bodyHash else { return .otherBody }
            return receipt.version == nil ? .pending : .done(receipt)
        }
        while receipts.count >= limits.receiptsPerSession {
            guard let oldest = order.first else { return .full(retryAfter: limits.receiptGrace) }
            let age = now - oldest.made
            guard receipts[oldest.key]?.made == oldest.made else {
                order.removeFirst()
                continue
            }
            guard age >= limits.receiptGrace, receipts[oldest.key]?.version != nil else {
                return .full(retryAfter: max(.seconds(1), limits.receiptGrace - age))
            }
            receipts[oldest.key] = nil
            order.removeFirst()
        }
        receipts[key] = Receipt(bodyHash: bodyHash, intentID: IntentID(key.key), version: nil, made: now)
        order.append((key, now))
        return .reserved
    }

    /// The turn is committed.
    mutating func complete(_ key: Key, version: UInt64) { receipts[key]?.version = version }

    /// The intent was refused: the key is free again.
    mutating func release(_ key: Key) {
        guard receipts[key]?.version == nil else { return }
        receipts[key] = nil
        // Refused keys leave their place in the order behind; it must not outgrow what it orders.
        if order.last?.key == key {
            order.removeLast()
        } else if order.count > 2 * receipts.count + 64 {
            order.removeAll { receipts[$0.key]?.made != $0.made }
        }
    }

    private mutating func expire(now: Duration, life: Duration) {
        while let oldest = order.first, now - oldest.made >= life {
            if let receipt = receipts[oldest.key], receipt.made == oldest.made {
                // One that is still under way keeps its key, however long it takes.
                if receipt.version == nil { return }
                receipts[oldest.key] = nil
            }
            order.removeFirst()
        }
    }
}
