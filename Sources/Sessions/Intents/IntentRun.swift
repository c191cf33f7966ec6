import Locking
import MVI
import SessionJournal
import WireJSON

/// One request with an intent on its way through its session.
final class IntentRun: Sendable {
    let session: Session
    let request: IntentRequest
    let feature: FeatureID
    let receipt: ReceiptKey?
    let lastWord: (@Sendable (IntentRefusal) -> (status: Int, body: [UInt8])?)?
    let completion: @Sendable (IntentResult) -> Void

    init(
        _ session: Session, _ request: IntentRequest, _ feature: FeatureID,
        lastWord: (@Sendable (IntentRefusal) -> (status: Int, body: [UInt8])?)?,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        self.session = session
        self.request = request
        self.feature = feature
        receipt = request.receiptKey(feature)
        self.lastWord = lastWord
        self.completion = completion
    }

    private var environment: SessionEnvironment { session.environment }

    /// Looks at the body and at the request's name before any store is made: a body that is no intent makes none.
    func begin() {
        let (handle, name) = session.storeAndName(feature)
        var accept: StoreHandle.Accept?
        let fault: WireDecodingError?
        switch handle?.decode(request.body) {
        case .intent(let understood)?:
            accept = understood
            fault = nil
        case .fault(let error)?: fault = error
        case nil:
            guard let definition = environment.features.definition(for: feature) else {
                return completion(.failure(.store(.featureNotFound)))
            }
            fault = definition.intentFault(request.body)
        }
        // Order of checks: whether the instance exists comes before what is wanted of it.
        if fault != nil, handle == nil, !session.hasStore(feature) {
            do throws(StoreRefusal) { _ = try session.initialState(of: feature) } catch {
                return completion(.failure(.store(error)))
            }
        }
        let id: IntentID
        if case .key(let key)? = request.name { id = IntentID(key) } else { id = IntentID(bits: name) }
        if let receipt, !reserve(receipt, id, fault) { return }
        if let fault {
            refuse(fault: fault)
        } else if let handle, let accept {
            run(accept, id, handle)
        } else {
            open(id)
        }
    }

    /// Takes the request's name; false if it is not to be had, and the request has been answered or will be.
    private func reserve(_ key: ReceiptKey, _ id: IntentID, _ fault: WireDecodingError?) -> Bool {
        let hash = request.hash(feature)
        let now = environment.time.monotonic()
        let lookup = session.core.withLock {
            $0.receipts.reserve(key, bodyHash: hash, intentID: id, now: now, limits: environment.limits)
        }
        if case .reserved = lookup { return true }
        if case .done(let found) = lookup, case .refused? = found.outcome {
            replay(found)
            return false
        }
        // Order of checks: not JSON comes before the receipt. But a client that is told of a refusal with a number goes
        // on to the next one, so it is not told before that is kept.
        if case .malformed(let offset, let reason)? = fault, !lookup.isUnderWay(key) {
            completion(.failure(.malformed(offset: offset, reason: reason)))
            return false
        }
        switch lookup {
        case .reserved: return true
        case .done(let found): replay(found)
        case .pending: completion(.failure(.receiptPending))
        case .otherBody: completion(.failure(.receiptConflict))
        case .full(let after): completion(.failure(.tooManyReceipts(retryAfter: after)))
        case .gap(let expected): completion(.failure(.outOfSequence(expected: expected)))
        case .expired: completion(.failure(.receiptExpired))
        }
        return false
    }

    /// Makes the store, or brings it back, and runs the intent on it.
    private func open(_ id: IntentID) {
        session.openStore(feature) { [self] opened in
            switch opened {
            case .failure(let refusal):
                release()
                completion(.failure(.store(refusal)))
            case .success(let store):
                switch store.handle.decode(request.body) {
                case .intent(let accept): run(accept, id, store.handle)
                case .fault(let error): refuse(fault: error)
                }
            }
        }
    }

    private func refuse(fault: WireDecodingError) {
        switch fault {
        case .malformed(let offset, let reason): refuse(.malformed(offset: offset, reason: reason))
        case .mismatch(let issues):
            // Order of checks: what the client believes of the state comes before what it asks for.
            if let ifMatch = request.ifMatch, !ifMatch(session.version(of: feature)) {
                return refuse(.rejected(.preconditionFailed))
            }
            refuse(.mismatch(issues))
        }
    }

    private func run(_ accept: StoreHandle.Accept, _ id: IntentID, _ handle: StoreHandle) {
        let reply =
            receipt == nil && !request.wantsState
            ? nil : PendingReply(receipt: receipt, wantsState: request.wantsState)
        let precondition = request.ifMatch.map { ifMatch -> IntentPrecondition in
            { [session, feature] uncommitted in
                guard let state = session.existingState(of: feature) else { return .disposed }
                return ifMatch(state.version + UInt64(uncommitted)) ? nil : .preconditionFailed
            }
        }
        accept(id, precondition, reply) { [self] result in
            switch result {
            case .success(let outcome): succeeded(id, outcome, reply, handle)
            // The store left memory between being found and being asked: it comes back.
            case .failure(.passivated): open(id)
            case .failure(.notCommitted(let failure)) where failure.code == .duplicate: replayCommitted(id)
            case .failure(let rejection): refuse(.rejected(rejection))
            }
        }
    }

    private func succeeded(
        _ id: IntentID, _ outcome: IntentOutcome, _ reply: PendingReply?, _ handle: StoreHandle
    ) {
        let version = outcome.version
        let after = reply?.view.map { StateSnapshot(version: version, view: $0) }
        guard let wait = request.wait else {
            return answer(
                id, after, version: version, isReplayed: false, isSettled: outcome.isSettled, isGranted: false)
        }
        session.settle(id, wait, feature, handle, isSettled: outcome.isSettled, fallback: after) {
            [self]
            isSettled, isGranted, state in
            answer(id, state, version: version, isReplayed: false, isSettled: isSettled, isGranted: isGranted)
        }
    }

    private func answer(
        _ id: IntentID, _ state: StateSnapshot?, version: UInt64, isReplayed: Bool, isSettled: Bool, isGranted: Bool
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
        session.keepRefusal(receipt, status: word.status, body: word.body) { [self] kept in
            switch kept {
            case .kept: completion(.failure(refusal))
            case .before(let receipt): replay(receipt)
            case .failed(let failure):
                // Told so, the client would go on to the next number, which would be one too high.
                completion(.failure(.rejected(.notCommitted(failure))))
            }
        }
    }

    // MARK: Repetitions

    /// Answers a repeated request anew, from its receipt.
    private func replay(_ receipt: ReceiptBook.Receipt) {
        switch receipt.outcome {
        case nil: completion(.failure(.receiptPending))
        case .refused(let status, let body)?: completion(.failure(.replayed(status: status, body: body)))
        case .ran(let version)?:
            session.state(of: feature) { [self] result in
                switch result {
                case .failure(let refusal): completion(.failure(.store(refusal)))
                case .success(let present): replay(receipt.intentID, version, present)
                }
            }
        }
    }

    private func replay(_ id: IntentID, _ version: UInt64, _ present: StateSnapshot) {
        guard let wait = request.wait, let handle = session.storeAtHand(feature) else {
            return answer(id, present, version: version, isReplayed: true, isSettled: false, isGranted: false)
        }
        session.settle(id, wait, feature, handle, isSettled: false, fallback: present) {
            [self]
            isSettled, isGranted, state in
            answer(id, state, version: version, isReplayed: true, isSettled: isSettled, isGranted: isGranted)
        }
    }

    /// The journal had the receipt already: another writer ran the request, or this one did and was not told. Had it
    /// that of another request, this one did not run, and does now.
    private func replayCommitted(_ id: IntentID) {
        let found = receipt.flatMap { key in session.core.withLock { $0.receipts[key] } }
        if let found, found.outcome != nil { replay(found) } else { open(id) }
    }
}

extension Session {
    /// Waits until no work that the intent launched is running, at most for `wait`.
    func settle(
        _ id: IntentID, _ wait: Duration, _ feature: FeatureID, _ handle: StoreHandle, isSettled: Bool,
        fallback: StateSnapshot?,
        then: @escaping @Sendable (_ isSettled: Bool, _ isGranted: Bool, StateSnapshot?) -> Void
    ) {
        guard !isSettled else { return then(true, true, fallback) }
        let waiting = beginWait(for: wait) { [self] isSettled in
            then(isSettled, true, existingState(of: feature) ?? fallback)
        }
        guard let waiting else { return then(false, false, existingState(of: feature) ?? fallback) }
        let isWaiting = handle.store.whenSettled(id, id: waiting.number) { waiting.end(true) }
        if isWaiting {
            waiting.onTimeout { handle.store.stopWaiting(for: id, id: waiting.number) }
        } else {
            waiting.end(true)
        }
    }
}
