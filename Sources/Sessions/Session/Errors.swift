import EventStream
import MVI
import SessionJournal
import WireJSON

/// The codes of sessions, in addition to those of stores and journals.
extension StoreError.Code {
    /// The feature or the instance does not exist. The detail is a sentence for clients.
    package static let featureNotFound = Self("featureNotFound")
    /// The session has the maximum number of stores. The detail is a sentence for clients.
    package static let tooManyStores = Self("tooManyStores")
    /// Too many audiences watch the store.
    package static let tooManyAudiences = Self("tooManyAudiences")
    /// Too many requests are already waiting.
    package static let tooManyWaits = Self("tooManyWaits")
    /// Too many streams are open.
    package static let tooManyStreams = Self("tooManyStreams")
    /// The session left memory while the request was on its way. A repeated request loads it.
    package static let evicted = Self("evicted")
    /// The store could not be made: the feature's code threw.
    package static let notMade = Self("notMade")
    /// A newer version of the feature than this server's wrote the store's state.
    package static let newerState = Self("newerState")
    /// The body is not JSON. The detail is a sentence for clients.
    package static let malformed = Self("malformed")
    /// The body is JSON, but not an intent of the feature.
    package static let mismatch = Self("mismatch")
    /// The body's `type` is not an intent of the feature.
    package static let unknownIntent = Self("unknownIntent")
    /// An intent with that key or number is under way.
    package static let receiptPending = Self("receiptPending")
    /// The key or number was used with another body.
    package static let receiptConflict = Self("receiptConflict")
    /// There is no room for another receipt.
    package static let tooManyReceipts = Self("tooManyReceipts")
    /// Requests with smaller numbers are missing.
    package static let outOfSequence = Self("outOfSequence")
    /// The number was used, and its receipt has expired.
    package static let receiptExpired = Self("receiptExpired")
}

extension StoreError {
    static let featureNotFound = StoreError(.featureNotFound, "There is no such feature instance.")
    /// No instance has the feature's key.
    static func noInstance(_ feature: FeatureID, of definition: FeatureDefinition) -> StoreError {
        let detail = "There is no \"\(definition.name)\" with the key \"\(feature.key ?? "")\"."
        return StoreError(.featureNotFound, detail + keys(of: definition))
    }

    private static func keys(of definition: FeatureDefinition) -> String {
        definition.exampleKeys.isEmpty ? "" : " Keys to try: \(definition.exampleKeys.joined(separator: ", "))."
    }

    /// The maker of a keyed feature refused: the sender may not use the instance, or it does not exist for the sender.
    static func refusedInstance(_ refusal: Refusal, of definition: FeatureDefinition) -> StoreError {
        guard refusal.kind != .forbidden else {
            return StoreError(.forbidden, refusal.detail, refusalCode: refusal.code)
        }
        return StoreError(.featureNotFound, refusal.detail + keys(of: definition), refusalCode: refusal.code)
    }

    static let sessionEnded = StoreError(.gone, "The session was ended while the request was under way.")
    static let evicted = StoreError(.evicted, "The session left memory while the request was under way.")
    static let storeDisposed = StoreError(.disposed, "The store was disposed meanwhile.")
    static let receiptPending = StoreError(.receiptPending, "The intent is not committed yet.")
    @usableFromInline static let newerState = StoreError(
        .newerState, "The store's state was written by a newer version of the feature.")

    static let tooManySessions = StoreError(.tooManySessions, "Too many sessions are in memory.")
    static let tooManyWaits = tooManyWaits(retryAfter: nil)

    static func tooManyWaits(retryAfter: Duration?) -> StoreError {
        StoreError(.tooManyWaits, "Too many requests are already waiting.", retryAfter: retryAfter)
    }
    static let loadTimeOut = StoreError(.unavailable, "The store could not be loaded within 5 s.")

    static func tooManyStores(_ count: Int) -> StoreError {
        StoreError(.tooManyStores, "The session already has \(count) stores, the maximum.")
    }

    /// Receivers are not available, which is no fault of the feature: a later try succeeds.
    static func tooManyMessages(_ count: Int) -> StoreError {
        StoreError(.busy, "\(count) messages wait for receivers that are not available.", retryAfter: .seconds(5))
    }

    static func outOfSequence(expected: UInt64) -> StoreError {
        StoreError(.outOfSequence, "The next number is \(expected).", expectedNumber: expected)
    }

    /// True if the store is not available here and a retry does not help.
    var isLasting: Bool {
        [.newerState, .featureNotFound, .notMade, .gone, .forbidden].contains(code)
    }

    init(_ fault: WireDecodingError) {
        switch fault {
        case .malformed(let offset, let reason):
            self.init(.malformed, "The body is not JSON at byte \(offset): \(reason).")
        case .mismatch(let issues):
            self.init(
                issues.contains { $0.unknownType != nil } ? .unknownIntent : .mismatch,
                "The body is not an intent of the feature.",
                issues: issues.map { Issue(pointer: $0.pointer, detail: $0.detail) })
        }
    }
}

/// Checks that rows of a journal are ones that a session wrote: a disk or a person may have changed them. Invalid rows
/// are not used, so that a damaged row affects only its own session.
extension StoredSession {
    /// The maximum length of a log: at a million turns a second it takes 140,000 years. Below it no number overflows.
    private static let longestLog: UInt64 = 1 << 62

    /// A number that a session's sign-ins cannot reach.
    private static let highestCredential = 1 << 53

    /// The first invalid row, or nil.
    var fault: StoreError? {
        damage.map { .damaged("of the session \(record.id) are damaged: \($0)") }
    }

    private var damage: String? {
        let last = head.number
        if last > Self.longestLog { return "the head has the number \(last)" }
        if !Epoch.isValid(record.epoch) { return "the epoch is invalid" }
        if accessChanges > Self.longestLog { return "access was changed \(accessChanges) times" }
        // 0 is the number of clients without a credential.
        for credential in credentials where !(1...Self.highestCredential ~= credential.number) {
            return "a credential has the number \(credential.number)"
        }
        if recentHeads.contains(where: { $0.number > last }) { return "an earlier head has a higher number" }
        for store in stores + changed.map(\.summary)
        where max(store.number, store.version, store.made, store.replaced) > last {
            return "the store \(store.feature) has a higher number than the head"
        }
        for store in changed where !store.view.isOneLineOfJSON {
            return "the view state of \(store.summary.feature) is not JSON"
        }
        for label in labels {
            guard 1...max(1, last) ~= label.id.number, UInt32(exactly: label.id.index) != nil,
                label.version <= last
            else { return "a label has the place \(label.id.number).\(label.id.index)" }
            guard label.json.isOneLineOfJSON else { return "a label is not JSON" }
        }
        for receipt in receipts {
            guard receipt.number <= last else { return "a receipt has the number \(receipt.number)" }
            if case .sequence(let number, _) = receipt.key, number > UInt64(Int64.max) {
                return "a receipt is for the number \(number)"
            }
            switch receipt.outcome {
            case .ran(let version): if version > last { return "a receipt has the version \(version)" }
            case .refused(let status, let body):
                guard 400..<600 ~= status, body.isOneLineOfJSON else { return "a receipt has the status \(status)" }
            }
        }
        return nil
    }
}

extension StoreError {
    static func damaged(_ what: String) -> StoreError {
        StoreError(.unavailable, "The journal's rows \(what).", retryAfter: .seconds(60))
    }
}

extension [UInt8] {
    /// True if the bytes are JSON that fits in one line of a stream.
    var isOneLineOfJSON: Bool {
        !contains { $0 == 0x0A || $0 == 0x0D } && (try? WireJSON.decode(JSONText.self, from: self)) != nil
    }
}
