import LibCrypto
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
        _ request: consuming IntentRequest, to feature: FeatureID,
        record: (@Sendable (StoreError) -> RecordedRefusal?)? = nil,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        guard mayRun else { return completion(.failure(.elsewhere)) }
        let client = request.client
        if !isPlain(client, feature), let refusal = self.refusal(of: client, feature, .send) {
            return completion(.failure(refusal))
        }
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
        var id = IntentID(bits: name)
        if case .key(let key)? = request.name { id = IntentID(key) }
        let intent = definition.decode(request.body, store?.runner)
        let isFault = store == nil && intent.fault != nil
        let job = IntentJob(self, consume request, feature, id, consume intent, record: record, completion: completion)
        if store == nil {
            if isKept {
                startLoads([feature])
            } else if isFault {
                // Order of checks: whether the instance exists comes before what is wanted of it.
                do throws(StoreError) { _ = try initialState(of: feature, for: client.principal) } catch {
                    return job.fail(error)
                }
            }
        }
        job.arrive(at: store)
    }

    /// Takes a request's name.
    func reserve(_ name: ReceiptName) -> ReceiptBook.Lookup {
        let now = shared.time.monotonic()
        return core.withLock {
            $0.receipts.reserve(name.key, bodyHash: name.bodyHash, now: now, limits: shared.limits)
        }
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
            key: .sequence(number, epoch: client.scoped(epoch)), bodyHash: SHA256.digest([]))
        if let lost = self.refusal(of: client, feature, .send) { return completion(.failure(lost)) }
        let now = shared.time.sinceEpoch()
        let recorded = StoredReceipt.Outcome.refused(status: refusal.status, body: refusal.body)
        switch reserve(receipt) {
        case .reserved:
            enqueue(.intents) { [self] in
                mayRun ? judgeTurn(client, feature, .send).map { .refused($0) } : .elsewhere(.elsewhere)
            } done: { [self] result in
                let outcome = core.withLock { core in
                    core.receipts.release(receipt.key)
                    return core.receipts[receipt.key]?.outcome
                }
                completion(result.map { isKept in !isKept && outcome == recorded })
            } _: { core in
                // Else it ran before, or it is not the number's turn: nothing is kept.
                guard case .reserved = core.judge(receipt) else { return false }
                core.add(refusal, receipt, .random(), now: now)
                return true
            }
        case .done(let found): completion(.success(found.outcome == recorded))
        case .refused:
            let isUnderWay = core.withLock { $0.receipts.isPending(receipt.key) }
            completion(isUnderWay ? .failure(.receiptPending) : .success(false))
        }
    }
}
