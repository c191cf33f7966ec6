import Crypto
import Locking
import MVI
import SessionJournal
import WireJSON

/// One request with an intent on its way through its session.
struct IntentRun: Sendable {
    let session: Session
    let request: IntentRequest
    let feature: FeatureID
    let receipt: ReceiptKey?
    let lastWord: (@Sendable (IntentRefusal) -> (status: Int, body: [UInt8])?)?
    let completion: @Sendable (IntentResult) -> Void

    private var environment: SessionEnvironment { session.environment }

    /// The store is there, or cannot be had.
    func begin(_ opened: Result<(handle: StoreHandle, number: UInt64), StoreRefusal>) {
        switch opened {
        case .failure(let refusal): completion(.failure(.store(refusal)))
        case .success(let store): begin(store.handle)
        }
    }

    private func begin(_ handle: StoreHandle) {
        let decoded = handle.decode(request.body)
        let id = intentID
        if let receipt {
            let hash = Array(SHA256.hash(data: request.body))
            let now = environment.time.monotonic()
            let lookup = session.core.withLock {
                $0.receipts.reserve(receipt, bodyHash: hash, intentID: id, now: now, limits: environment.limits)
            }
            if case .failure(.malformed(let offset, let reason)) = decoded {
                // Not JSON comes before the receipt, but for a number that is due uses that up.
                if case .reserved = lookup { return refuse(.malformed(offset: offset, reason: reason)) }
                return completion(.failure(.malformed(offset: offset, reason: reason)))
            }
            switch lookup {
            case .reserved: break
            case .done(let found): return replay(found, handle)
            case .pending: return completion(.failure(.receiptPending))
            case .otherBody: return completion(.failure(.receiptConflict))
            case .full(let after): return completion(.failure(.tooManyReceipts(retryAfter: after)))
            case .gap(let expected): return completion(.failure(.outOfSequence(expected: expected)))
            case .expired: return completion(.failure(.receiptExpired))
            }
        }
        switch decoded {
        case .failure(let error):
            // Order of checks: what the client believes of the state comes before what it asks for.
            if let ifMatch = request.ifMatch, let state = session.existingState(of: feature), !ifMatch(state.version) {
                return refuse(.rejected(.preconditionFailed))
            }
            switch error {
            case .malformed(let offset, let reason): refuse(.malformed(offset: offset, reason: reason))
            case .mismatch(let issues): refuse(.mismatch(issues))
            }
        case .success(let accept): run(accept, id, handle)
        }
    }

    private var intentID: IntentID {
        if case .key(let key)? = request.name { IntentID(key) } else { .random() }
    }

    private func run(_ accept: StoreHandle.Accept, _ id: IntentID, _ handle: StoreHandle) {
        let reply = PendingReply(receipt: receipt)
        let precondition = request.ifMatch.map { ifMatch -> IntentPrecondition in
            { [weak session, feature] uncommitted in
                guard let state = session?.existingState(of: feature) else { return .disposed }
                return ifMatch(state.version + UInt64(uncommitted)) ? nil : .preconditionFailed
            }
        }
        accept(id, precondition, reply) { result in
            switch result {
            case .success(let outcome): succeeded(id, outcome, reply, handle)
            case .failure(.passivated): again()
            case .failure(.notCommitted(let failure)) where failure.code == .duplicate: replayCommitted(handle)
            case .failure(let rejection): refuse(.rejected(rejection))
            }
        }
    }

    /// The store left memory between being found and being asked: it comes back.
    private func again() {
        release()
        session.openStore(feature) { begin($0) }
    }

    private func succeeded(
        _ id: IntentID, _ outcome: IntentOutcome, _ reply: PendingReply, _ handle: StoreHandle
    ) {
        guard let commit = reply.committed else { preconditionFailure("an intent succeeded without a commit") }
        let after = StateSnapshot(version: commit.version, view: commit.view)
        guard let wait = request.wait else {
            return answer(
                id, after, version: commit.version, isReplayed: false, isSettled: outcome.isSettled, isGranted: false)
        }
        session.settle(id, wait, feature, handle, isSettled: outcome.isSettled, fallback: after) {
            isSettled, isGranted, state in
            answer(
                id, state, version: commit.version, isReplayed: false, isSettled: isSettled, isGranted: isGranted)
        }
    }

    private func answer(
        _ id: IntentID, _ state: StateSnapshot, version: UInt64, isReplayed: Bool, isSettled: Bool, isGranted: Bool
    ) {
        completion(
            .success(
                IntentReply(
                    intentID: id, state: state, version: version, isReplayed: isReplayed, isSettled: isSettled,
                    isWaitGranted: isGranted)))
    }

    // MARK: Refusals

    private func release() {
        if let receipt { session.core.withLock { $0.receipts.release(receipt) } }
    }

    /// Refuses, and keeps the refusal if the request has a number that it uses up.
    private func refuse(_ refusal: IntentRefusal) {
        guard case .sequence? = request.name, let receipt, let word = lastWord?(refusal) else {
            release()
            return completion(.failure(refusal))
        }
        session.keepRefusal(receipt, status: word.status, body: word.body) { isKept in
            guard isKept else {
                // Told so, the client would go on to the next number, which would be one too high.
                let failure = CommitFailure(.unavailable, "The refusal could not be kept.")
                return completion(.failure(.rejected(.notCommitted(failure))))
            }
            completion(.failure(refusal))
        }
    }

    // MARK: Repetitions

    /// Answers a repeated request anew, from its receipt.
    private func replay(_ receipt: ReceiptBook.Receipt, _ handle: StoreHandle) {
        switch receipt.outcome {
        case nil: completion(.failure(.receiptPending))
        case .refused(let status, let body)?: completion(.failure(.replayed(status: status, body: body)))
        case .ran(let version)?:
            session.state(of: feature) { result in
                switch result {
                case .failure(let refusal): completion(.failure(.store(refusal)))
                case .success(let present): replay(receipt.intentID, version, present, handle)
                }
            }
        }
    }

    private func replay(_ id: IntentID, _ version: UInt64, _ present: StateSnapshot, _ handle: StoreHandle) {
        guard let wait = request.wait else {
            return answer(id, present, version: version, isReplayed: true, isSettled: false, isGranted: false)
        }
        session.settle(id, wait, feature, handle, isSettled: false, fallback: present) { isSettled, isGranted, state in
            answer(id, state, version: version, isReplayed: true, isSettled: isSettled, isGranted: isGranted)
        }
    }

    /// The journal had the receipt already: another writer ran the request, or this one did and was not told.
    private func replayCommitted(_ handle: StoreHandle) {
        let found = receipt.flatMap { key in session.core.withLock { $0.receipts[key] } }
        guard let found else { return completion(.failure(.receiptPending)) }
        replay(found, handle)
    }
}

extension Session {
    /// Waits until no work that the intent launched is running, at most for `wait`.
    func settle(
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
