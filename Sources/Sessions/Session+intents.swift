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

    /// A request with a body.
    public init(
        body: [UInt8], name: Name? = nil, ifMatch: (@Sendable (UInt64) -> Bool)? = nil, wait: Duration? = nil
    ) {
        self.body = body
        self.name = name
        self.ifMatch = ifMatch
        self.wait = wait
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
    /// The version and view state: after the turn; after the wait if there was one; the present one for a replay.
    public let state: StateSnapshot
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
    /// Runs an intent on the store that it names, which is made if the session has none yet.
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
        let run = IntentRun(
            session: self, request: request, feature: feature, receipt: request.receiptKey(feature),
            lastWord: lastWord, completion: completion)
        openStore(feature) { run.begin($0) }
    }

    /// Uses the number of a request up that was refused before it could be accepted, as `accept` does for its own
    /// refusals. Without effect if it is not the number's turn.
    ///
    /// It counts as used at once, since the answer does not wait; should the server end before that is kept, the next
    /// number is answered with the one that is expected.
    public func useUp(_ name: IntentRequest.Name, status: Int, body: [UInt8]) {
        guard case .sequence(let number, let epoch) = name else { return }
        let key = ReceiptKey.sequence(number, epoch: epoch)
        let now = environment.time.monotonic()
        let isDue = core.withLock { core in
            let lookup = core.receipts.reserve(
                key, bodyHash: [], intentID: .random(), now: now, limits: environment.limits)
            guard case .reserved = lookup else { return false }
            core.receipts.complete(key, .refused(status: status, body: body))
            return true
        }
        if isDue { keepRefusal(key, status: status, body: body) { _ in } }
    }

    /// Keeps a refusal as a request's receipt. `completion` is told whether it is kept.
    func keepRefusal(
        _ key: ReceiptKey, status: Int, body: [UInt8], completion: @escaping @Sendable (Bool) -> Void
    ) {
        let outcome = StoredReceipt.Outcome.refused(status: status, body: body)
        let now = environment.time.sinceEpoch()
        let append = core.withLock { core -> JournalAppend? in
            guard !core.isEnded, let receipt = core.receipts[key] else { return nil }
            let stored = StoredReceipt(
                key: key, bodyHash: receipt.bodyHash, intent: receipt.intentID.text, outcome: outcome, made: now)
            return core.housekeeping(self, nil, [stored], now: now)
        }
        guard let append else { return completion(false) }
        let finish: @Sendable (AppendResult) -> Void = { [self] result in
            let isKept = core.withLock { core in
                guard case .committed = result else {
                    core.receipts.release(key)
                    return false
                }
                core.receipts.complete(key, outcome)
                return true
            }
            completion(isKept)
        }
        if let result = environment.journal.append(append, done: finish) { finish(result) }
    }
}
