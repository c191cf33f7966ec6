import Crypto
import Locking
import MVI
import WireJSON

/// What a client asks for with an intent.
public struct IntentRequest: Sendable {
    /// The JSON object.
    public var body: [UInt8]
    /// Names the request, so that a repetition does not run again.
    public var idempotencyKey: String?
    /// Asked with the store's version when the intent is about to run; false refuses it.
    public var ifMatch: (@Sendable (_ version: UInt64) -> Bool)?
    /// How long to wait for the work that the intent launches; nil not to. Capped by the limits.
    public var wait: Duration?

    /// A request with a body.
    public init(
        body: [UInt8], idempotencyKey: String? = nil, ifMatch: (@Sendable (UInt64) -> Bool)? = nil,
        wait: Duration? = nil
    ) {
        self.body = body
        self.idempotencyKey = idempotencyKey
        self.ifMatch = ifMatch
        self.wait = wait
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
    /// An intent with that key is under way.
    case receiptPending
    /// The key was used with another body.
    case receiptConflict
    /// No room for another receipt before that time.
    case tooManyReceipts(retryAfter: Duration)
    /// The store itself, or its session, said no.
    case rejected(IntentRejection)
}

extension Session {
    /// Runs an intent on the store that it names, which is made if the session has none yet.
    ///
    /// `completion` is called once: on this thread before `accept` returns if the store was idle, its journal quick and
    /// no wait asked for, else later on another; never under a lock.
    public func accept(
        _ request: IntentRequest, for feature: FeatureID,
        completion: @escaping @Sendable (Result<IntentReply, IntentRefusal>) -> Void
    ) {
        let store: (handle: StoreHandle, number: UInt64)
        do {
            store = try openStore(feature)
        } catch {
            return completion(.failure(.store(error)))
        }
        let decoded = store.handle.decode(request.body)
        if case .failure(.malformed(let offset, let reason)) = decoded {
            return completion(.failure(.malformed(offset: offset, reason: reason)))
        }

        let receipt = request.idempotencyKey.map { ReceiptBook.Key(feature: feature, key: $0) }
        if let receipt {
            let hash = SHA256.hash(data: request.body)
            let now = environment.time.monotonic()
            let lookup = core.withLock {
                $0.receipts.reserve(receipt, bodyHash: hash, now: now, limits: environment.limits)
            }
            switch lookup {
            case .reserved: break
            case .done(let found):
                return replay(found, request, feature, store.handle, completion)
            case .pending: return completion(.failure(.receiptPending))
            case .otherBody: return completion(.failure(.receiptConflict))
            case .full(let after): return completion(.failure(.tooManyReceipts(retryAfter: after)))
            }
        }

        switch decoded {
        case .failure(let error):
            if let receipt { core.withLock { $0.receipts.release(receipt) } }
            // Order of checks: what the client believes of the state comes before what it asks for.
            if let ifMatch = request.ifMatch, let state = existingState(of: feature), !ifMatch(state.version) {
                return completion(.failure(.rejected(.preconditionFailed)))
            }
            switch error {
            case .malformed(let offset, let reason): completion(.failure(.malformed(offset: offset, reason: reason)))
            case .mismatch(let issues): completion(.failure(.mismatch(issues)))
            }
        case .success(let accept):
            run(accept, request, feature, store, receipt, completion)
        }
    }

    private func run(
        _ accept: StoreHandle.Accept, _ request: IntentRequest, _ feature: FeatureID,
        _ store: (handle: StoreHandle, number: UInt64), _ receipt: ReceiptBook.Key?,
        _ completion: @escaping @Sendable (Result<IntentReply, IntentRefusal>) -> Void
    ) {
        let id = receipt.map { IntentID($0.key) } ?? .random()
        let reply = PendingReply(receipt: receipt)
        let precondition = request.ifMatch.map { ifMatch -> IntentPrecondition in
            { [weak self] uncommitted in
                guard let state = self?.existingState(of: feature) else { return .disposed }
                return ifMatch(state.version + UInt64(uncommitted)) ? nil : .preconditionFailed
            }
        }
        accept(id, precondition, reply) { [self] result in
            switch result {
            case .failure(let rejection):
                if let receipt { core.withLock { $0.receipts.release(receipt) } }
                completion(.failure(.rejected(rejection)))
            case .success(let outcome):
                guard let commit = reply.committed else {
                    preconditionFailure("an intent succeeded without a commit")
                }
                let after = StateSnapshot(version: commit.version, view: commit.view)
                guard let wait = request.wait else {
                    return completion(
                        .success(
                            IntentReply(
                                intentID: id, state: after, version: commit.version, isReplayed: false,
                                isSettled: outcome.isSettled, isWaitGranted: false)))
                }
                settle(
                    id, wait, feature, store.handle, isSettled: outcome.isSettled, fallback: after
                ) { isSettled, isGranted, state in
                    completion(
                        .success(
                            IntentReply(
                                intentID: id, state: state, version: commit.version, isReplayed: false,
                                isSettled: isSettled, isWaitGranted: isGranted)))
                }
            }
        }
    }

    /// Answers a repeated request anew, from its receipt.
    private func replay(
        _ receipt: ReceiptBook.Receipt, _ request: IntentRequest, _ feature: FeatureID, _ handle: StoreHandle,
        _ completion: @escaping @Sendable (Result<IntentReply, IntentRefusal>) -> Void
    ) {
        guard let version = receipt.version else { preconditionFailure("a receipt that is done has a version") }
        let present: StateSnapshot
        do { present = try state(of: feature) } catch { return completion(.failure(.store(error))) }
        let id = receipt.intentID
        let answer: @Sendable (Bool, Bool, StateSnapshot) -> Void = { isSettled, isGranted, state in
            completion(
                .success(
                    IntentReply(
                        intentID: id, state: state, version: version, isReplayed: true, isSettled: isSettled,
                        isWaitGranted: isGranted)))
        }
        guard let wait = request.wait else { return answer(false, false, present) }
        settle(id, wait, feature, handle, isSettled: false, fallback: present, then: answer)
    }

    /// Waits until no work that the intent launched is running, at most for `wait`.
    private func settle(
        _ id: IntentID, _ wait: Duration, _ feature: FeatureID, _ handle: StoreHandle, isSettled: Bool,
        fallback: StateSnapshot,
        then: @escaping @Sendable (_ isSettled: Bool, _ isGranted: Bool, StateSnapshot) -> Void
    ) {
        guard !isSettled else { return then(true, true, fallback) }
        let waiting = beginWait(for: wait) { [self] isSettled in
            then(isSettled, true, existingState(of: feature) ?? fallback)
        }
        guard let waiting else { return then(false, false, existingState(of: feature) ?? fallback) }
        let isWaiting = handle.whenSettled(id, waiting.number) { waiting.end(true) }
        if isWaiting {
            waiting.onTimeout { handle.stopWaiting(id, waiting.number) }
        } else {
            waiting.end(true)
        }
    }
}
