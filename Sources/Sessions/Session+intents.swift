import Crypto
import Locking
import MVI
import SessionJournal
import WireJSON

/// What a client asks for with an intent.
public struct IntentRequest: Sendable {
    /// What makes a request the same as another.
    public enum Name: Sendable, Hashable {
        /// `Idempotency-Key`.
        case key(String)
        /// `Intent-Seq` inside `Intent-Epoch`: this one comes after all that have a smaller number.
        case sequence(UInt64, epoch: String)
    }

    /// The JSON object.
    public var body: [UInt8]
    /// Names the request, so that a repetition does not run again.
    public var name: Name?
    /// Asked with the store's version when the intent is about to run; false refuses it.
    public var ifMatch: (@Sendable (_ version: UInt64) -> Bool)?
    /// How long to wait for the work that the intent launches; nil not to. Capped by the limits.
    public var wait: Duration?
    /// Whether the reply is to have the view state.
    public var wantsState: Bool

    /// A request with a body.
    public init(
        body: [UInt8], name: Name? = nil, ifMatch: (@Sendable (UInt64) -> Bool)? = nil, wait: Duration? = nil,
        wantsState: Bool = true
    ) {
        self.body = body
        self.name = name
        self.ifMatch = ifMatch
        self.wait = wait
        self.wantsState = wantsState
    }

    /// What tells a repetition from another request of the same name. A number is good for all features of a session, so
    /// there the feature counts.
    func hash(_ feature: FeatureID) -> [UInt8] {
        var hash = SHA256()
        if case .sequence? = name { hash.update(data: Array((feature.text + "\n").utf8)) }
        hash.update(data: body)
        return Array(hash.finalize())
    }

    /// What it is remembered by.
    func receiptKey(_ feature: FeatureID) -> ReceiptKey? {
        switch name {
        case nil: nil
        case .key(let key)?: .key(key, feature: feature)
        case .sequence(let number, let epoch)?: .sequence(number, epoch: epoch)
        }
    }
}

/// The answer to an intent that ran.
public struct IntentReply: Sendable {
    /// The intent's id.
    public let intentID: IntentID
    /// The version and view state: after the turn; after the wait if there was one; the present one for a replay. Nil
    /// if the request does not want it.
    public let state: StateSnapshot?
    /// The store's version after the turn.
    public let version: UInt64
    /// Whether this is the answer to a repeated request, from its receipt.
    public let isReplayed: Bool
    /// Whether no work that the intent launched is running.
    public let isSettled: Bool
    /// Whether the request's wait was granted; false also where none was asked for.
    public let isWaitGranted: Bool
}

/// Why an intent did not run.
public enum IntentRefusal: Error, Sendable {
    /// There is no store to run it.
    case store(StoreRefusal)
    /// The body is not JSON.
    case malformed(offset: Int, reason: String)
    /// The body is JSON, but no intent of the feature.
    case mismatch([WireDecodingError.Issue])
    /// An intent with that name is under way.
    case receiptPending
    /// The name was used with another body.
    case receiptConflict
    /// No room for another receipt before that time.
    case tooManyReceipts(retryAfter: Duration)
    /// Requests with smaller numbers are missing.
    case outOfSequence(expected: UInt64)
    /// The number was used, and what came of it is not known any more.
    case receiptExpired
    /// It was refused before; this is the answer it got.
    case replayed(status: Int, body: [UInt8])
    /// The store itself, or its session, said no.
    case rejected(IntentRejection)
}

/// The answer to an intent, or why there is none.
public typealias IntentResult = Result<IntentReply, IntentRefusal>

extension Session {
    /// Runs an intent on the store that it names, which is made if the session has none yet; a body that is no intent
    /// makes none.
    ///
    /// `completion` is called once: on this thread before `accept` returns if the store was idle, its journal quick and
    /// no wait asked for, else later on another; never under a lock.
    ///
    /// - Parameter lastWord: what to answer to a refusal that uses a number up, to be kept as its receipt; nil for one
    ///   that does not.
    public func accept(
        _ request: IntentRequest, for feature: FeatureID,
        lastWord: (@Sendable (IntentRefusal) -> (status: Int, body: [UInt8])?)? = nil,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        IntentRun(self, request, feature, lastWord: lastWord, completion: completion).begin()
    }

    /// The store of the feature instance if it is in memory; it counts as used. And a name for an intent, new in this
    /// session: a generator of all sessions would be fought over by all threads.
    func storeAndName(_ feature: FeatureID) -> (store: StoreHandle?, name: UInt64) {
        core.withLock { core in (core.storeAtHand(feature), core.nonces.next()) }
    }

    /// The store of the feature instance if it is in memory; it counts as used.
    func storeAtHand(_ feature: FeatureID) -> StoreHandle? { core.withLock { $0.storeAtHand(feature) } }
    /// The version of the store, in memory or not; without a store that with which one would begin.
    func version(of feature: FeatureID) -> UInt64 {
        core.withLock { $0.stores[feature]?.version ?? $0.marks.versionFloor + 1 }
    }
}

extension SessionCore {
    /// The store of the feature instance if it is in memory; it counts as used.
    mutating func storeAtHand(_ feature: FeatureID) -> StoreHandle? {
        guard !isEnded, let index = stores.index(of: feature), let handle = stores[index].handle else { return nil }
        stores[index].lastUse = lastTouch
        return handle
    }
}
