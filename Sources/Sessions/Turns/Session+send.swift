import Crypto
import Locking
import MVI
import SessionJournal
import WireJSON

extension Session {
    /// Runs an intent on the store that it names, which is made if the session has none yet; a body that is no intent
    /// makes none.
    ///
    /// `completion` is called once: on this thread before `send` returns if the session was idle, its journal quick and
    /// no wait asked for, else later on another; never under a lock.
    ///
    /// - Parameter record: the answer to an error that uses a number up, to be kept as its receipt; nil for one that does
    ///   not.
    package func send(
        _ request: IntentRequest, to feature: FeatureID,
        record: (@Sendable (StoreError) -> RecordedRefusal?)? = nil,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        guard mayRun else { return completion(.failure(.elsewhere)) }
        let client = request.client
        if !isPlain(client, feature), let refusal = self.refusal(of: client, feature, .send) {
            return completion(.failure(refusal))
        }
        let principal = client.principal
        let (keptOut, store, isKept, name) = core.withLock { core -> (StoreError?, SessionStore?, Bool, UInt64) in
            if let refusal = core.refusal(of: client) { return (refusal, nil, false, 0) }
            let index = core.stores.index(of: feature)
            if let index { core.stores[index].lastUse = core.lastTouch }
            return (nil, index.flatMap { core.stores[$0].store }, index != nil, core.nonces.next())
        }
        if let keptOut { return completion(.failure(keptOut)) }
        guard let definition = store?.definition ?? shared.features.definition(for: feature) else {
            return completion(.failure(.featureNotFound))
        }
        let intent = definition.decode(request.body, store?.runner)
        let fault = intent.fault
        if store == nil {
            // Order of checks: whether the instance exists comes before what is wanted of it.
            if fault != nil, !isKept {
                do throws(StoreError) { _ = try initialState(of: feature, for: principal) } catch {
                    return fail(error, feature, completion)
                }
            }
            if isKept { startLoads([feature]) }
        }
        var id = IntentID(bits: name)
        if case .key(let key)? = request.name { id = IntentID(key) }
        let receipt = request.receipt(feature)
        if let receipt, !reserve(receipt, request, feature, fault, completion) { return }
        if let fault, !receipt.usesNumber {
            if let receipt { core.withLock { $0.receipts.release(receipt.key) } }
            return fail(refusal(of: fault, request, feature), feature, completion)
        }
        let job = IntentJob(
            self, request, feature, id, receipt: receipt, intent, record: record, completion: completion)
        if case .check(let check) = intent, let store { return self.check(job, check, on: store) }
        enqueue(job)
    }

    /// Takes the request's name; false if it is not to be had, and the request has been answered or will be.
    private func reserve(
        _ name: ReceiptName, _ request: IntentRequest, _ feature: FeatureID, _ fault: WireDecodingError?,
        _ completion: @escaping @Sendable (IntentResult) -> Void
    ) -> Bool {
        // Order of checks: not JSON comes before a key.
        if case .malformed? = fault, case .key = name.key {
            fail(refusal(of: fault ?? .mismatch([]), request, feature), feature, completion)
            return false
        }
        switch reserve(name) {
        case .reserved: return true
        case .done(let receipt): replay(receipt, request, feature, completion)
        case .refused(let error): fail(error, feature, completion)
        }
        return false
    }

    private func fail(
        _ error: StoreError, _ feature: FeatureID, _ completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        count(.failure(error), feature)
        completion(.failure(error))
    }

    private func refusal(of fault: WireDecodingError, _ request: IntentRequest, _ feature: FeatureID) -> StoreError {
        do throws(StoreError) { try request.refuse(fault, version: version(of: feature)) } catch { return error }
    }

    private func reserve(_ name: ReceiptName) -> ReceiptBook.Lookup {
        let now = shared.time.monotonic()
        return core.withLock {
            $0.receipts.reserve(name.key, bodyHash: name.bodyHash, now: now, limits: shared.limits)
        }
    }

    /// Answers a repeated request anew, from its receipt.
    func replay(
        _ receipt: StoredReceipt, _ request: IntentRequest, _ feature: FeatureID,
        _ completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        shared.metrics.of(feature.name)?.count(.repeated)
        let version: UInt64
        switch receipt.outcome {
        case .ran(let after): version = after
        case .refused(let status, let body):
            return completion(
                .success(
                    IntentOutcome(id: IntentID(receipt.intent), refusal: RecordedRefusal(status: status, body: body))))
        }
        state(of: feature, for: request.client) { [self] result in
            switch result {
            case .failure(let error): completion(.failure(error))
            case .success(let present):
                var outcome = IntentOutcome(id: IntentID(receipt.intent), version: version, isSettled: false)
                outcome.isReplayed = true
                outcome.state = present
                guard let wait = request.wait else { return completion(.success(outcome)) }
                answerWhenSettled(outcome, wait, feature, request.client, completion)
            }
        }
    }

    /// Waits until no work that the intent launched is running in any store, at most for `wait`.
    func answerWhenSettled(
        _ outcome: IntentOutcome, _ wait: Duration, _ feature: FeatureID, _ client: SessionClient,
        _ completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        let end: @Sendable (Bool, Bool, StateSnapshot?) -> Void = { [self] isSettled, isGranted, state in
            var outcome = outcome
            outcome.isSettled = isSettled
            outcome.isWaitGranted = isGranted
            outcome.state = state ?? outcome.state
            completion(.success(withholding(outcome, from: client, feature)))
        }
        if outcome.isSettled { return end(true, true, nil) }
        let waiting = beginWait(for: wait, of: client) { [self] isSettled in
            end(isSettled, true, existingState(of: feature))
        }
        guard let waiting else { return end(false, false, existingState(of: feature)) }
        guard queue.whenSettled(outcome.id, id: waiting.number, { waiting.end(true) }) else { return waiting.end(true) }
        waiting.onTimeout { [queue] in queue.stopWaiting(for: outcome.id, id: waiting.number) }
    }

    /// The outcome of an intent that ran, without the state if its client may not read that now.
    func withholding(_ outcome: IntentOutcome, from client: SessionClient, _ feature: FeatureID) -> IntentOutcome {
        guard outcome.state != nil, refusal(of: client, feature, .read) != nil else { return outcome }
        var outcome = outcome
        (outcome.state, outcome.isWithheld) = (nil, true)
        return outcome
    }

    /// Uses up the number of a request that was refused before it could be sent, in the number's turn. `completion` is
    /// told, when that is kept, whether it was used up by the same refusal before; it is called once.
    ///
    /// It fails where the refusal must not be answered: told of it, the client would go on to a number that is one too
    /// high.
    package func useUp(
        _ name: IntentRequest.Name, _ refusal: RecordedRefusal, of client: SessionClient = SessionClient(),
        for feature: FeatureID, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        guard case .sequence(let number, let epoch) = name else { return completion(.success(false)) }
        // The request's own body was not read.
        let receipt = ReceiptName(
            key: .sequence(number, epoch: client.scoped(epoch)), bodyHash: Array(SHA256.hash(data: [UInt8]())))
        if let lost = self.refusal(of: client, feature, .send) { return completion(.failure(lost)) }
        let recorded = StoredReceipt.Outcome.refused(status: refusal.status, body: refusal.body)
        switch reserve(receipt) {
        case .reserved:
            let job = FunctionJob(.intents) { [self] result in
                let outcome = core.withLock { core in
                    core.receipts.release(receipt.key)
                    return core.receipts[receipt.key]?.outcome
                }
                completion(
                    result.flatMap { result in
                        result.outcome.error.map { .failure($0) } ?? .success(!result.isKept && outcome == recorded)
                    })
            } _: { [self] job in
                let now = shared.time.sinceEpoch()
                guard mayRun else { return core.withLock { $0.joinOther(job, .elsewhere(.elsewhere), isKept: false) } }
                if let lost = judgeTurn(client, feature, .send) {
                    return core.withLock { $0.joinOther(job, .refused(lost), isKept: false) }
                }
                core.withLock { core in
                    core.batch.isAnswer = true
                    // Else it ran before, or it is not the number's turn: nothing is kept.
                    let isNext = if case .next = core.judge(receipt) { true } else { false }
                    if isNext { core.add(refusal, receipt, .random(), now: now) }
                    core.joinOther(job, isKept: isNext)
                }
            }
            enqueue(job)
        case .done(let found): completion(.success(found.outcome == recorded))
        case .refused:
            let isUnderWay = core.withLock { $0.receipts.isPending(receipt.key) }
            completion(isUnderWay ? .failure(.receiptPending) : .success(false))
        }
    }
}

extension ReceiptName? {
    /// Whether the request has a number that a refusal uses up.
    fileprivate var usesNumber: Bool {
        if case .sequence? = self?.key { true } else { false }
    }
}
