import MVI
import WireJSON

/// What sessions may say beside what stores and journals do.
extension StoreError.Code {
    /// No such feature, or no such instance of it. The detail is a sentence for clients.
    package static let featureNotFound = Self("featureNotFound")
    /// The session has as many stores as it may. The detail is a sentence for clients.
    package static let tooManyStores = Self("tooManyStores")
    /// Too many requests are already waiting.
    package static let tooManyWaits = Self("tooManyWaits")
    /// As many streams are open as may be.
    package static let tooManyStreams = Self("tooManyStreams")
    /// The session left memory while the request was on its way; asked again, it comes back.
    package static let evicted = Self("evicted")
    /// The store could not be made: its author's code threw.
    package static let notMade = Self("notMade")
    /// The store's state was written by a newer version of the feature than this server has.
    package static let newerState = Self("newerState")
    /// The body is not JSON. The detail is a sentence for clients.
    package static let malformed = Self("malformed")
    /// The body is JSON, but no intent of the feature.
    package static let mismatch = Self("mismatch")
    /// The body's `type` is none of the feature's intents.
    package static let unknownIntent = Self("unknownIntent")
    /// An intent with that key or number is under way.
    package static let receiptPending = Self("receiptPending")
    /// The key or number was used with another body.
    package static let receiptConflict = Self("receiptConflict")
    /// There is no room for another receipt.
    package static let tooManyReceipts = Self("tooManyReceipts")
    /// Requests with smaller numbers are missing.
    package static let outOfSequence = Self("outOfSequence")
    /// The number was used, and its receipt is gone.
    package static let receiptExpired = Self("receiptExpired")
}

extension StoreError {
    static let featureNotFound = StoreError(.featureNotFound, "There is no such feature instance.")
    /// There is nothing under a feature's key.
    static func noInstance(_ feature: FeatureID, of definition: FeatureDefinition) -> StoreError {
        let detail = "There is no \"\(definition.name)\" with the key \"\(feature.key ?? "")\"."
        return StoreError(.featureNotFound, detail + keys(of: definition))
    }

    private static func keys(of definition: FeatureDefinition) -> String {
        definition.exampleKeys.isEmpty ? "" : " Keys to try: \(definition.exampleKeys.joined(separator: ", "))."
    }

    /// The maker of a keyed feature said no: the sender may not use the instance, or there is none for them.
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

    static let tooManySessions = StoreError(.tooManySessions, "As many sessions are in memory as may be.")
    static let tooManyWaits = StoreError(.tooManyWaits, "Too many requests are already waiting.")
    static let loadTimeOut = StoreError(.unavailable, "The store could not be loaded within 5 s.")

    static func tooManyStores(_ count: Int) -> StoreError {
        StoreError(.tooManyStores, "The session has \(count) stores, which is as many as it may have.")
    }

    static func outOfSequence(expected: UInt64) -> StoreError {
        StoreError(.outOfSequence, "The number \(expected) is to come first.", expectedNumber: expected)
    }

    /// Whether a store cannot be had here, however often it is tried.
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
                "The body is no intent of the feature.",
                issues: issues.map { Issue(pointer: $0.pointer, detail: $0.detail) })
        }
    }
}
