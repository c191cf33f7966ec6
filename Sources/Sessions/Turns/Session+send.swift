import LibCrypto
import Locking
import MVI
import Networks
import SessionJournal
import WireJSON

extension Session {
    /// Runs an intent on the store that it names, which is created if the session has none. A body that is not an
    /// intent creates none.
    ///
    /// `completion` is called once, never under a lock: on this thread before `send` returns if the session was idle,
    /// its journal quick and no wait requested; otherwise later on another.
    ///
    /// - Parameter record: the answer to an error that consumes a number, to be stored as its receipt; nil for other
    ///   errors.
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
            if let index, core.stores[index].store != nil { core.stores[index].use(at: core.lastTouch) }
            return (nil, index.flatMap { core.stores[$0].store }, index != nil, core.nonces.next())
        }
        if let keptOut { return completion(.failure(keptOut)) }
        guard let definition = store?.definition ?? shared.features.definition(for: feature, in: space)
        else {
            return completion(.failure(.featureNotFound))
        }
        var id = IntentID(bits: name)
        if case .key(let key)? = request.name { id = IntentID(key) }
        let intent = definition.decode(request.body, store?.runner)
        let isFault = store == nil && intent.fault != nil
        var completion = completion
        if client.caller != nil {
            let place: CallerPlace
            do throws(StoreError) { place = try takePlace(client) } catch { return completion(.failure(error)) }
            completion = { [completion] result in
                place.leave()
                completion(result)
            }
        }
        let job = IntentJob(self, consume request, feature, id, consume intent, record: record, completion: completion)
        if store == nil {
            if isKept {
                startLoads([feature])
            } else if isFault {
                // The existence of the instance is checked first.
                do throws(StoreError) { _ = try initialState(of: feature, for: client) } catch {
                    return job.fail(error)
                }
            }
        }
        job.arrive(at: store)
    }

    /// Reserves a request's name.
    func reserve(_ name: ReceiptName) -> ReceiptBook.Lookup {
        let now = shared.time.monotonic()
        return core.withLock {
            $0.receipts.reserve(name.key, bodyHash: name.bodyHash, now: now, limits: shared.limits)
        }
    }

    /// Consumes the number of a request that was refused before it could be sent, in the number's turn. `completion` is
    /// called once, after the commit: with true if the same refusal had consumed it before.
    ///
    /// Fails if the refusal must not be sent: the client would go on to a number that is one too high.
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
                // Otherwise it ran before, or it is not the number's turn: nothing is committed.
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

/// The places of callers in a space's queue, by caller and by address.
struct CallerPlaces {
    var callers: [CallerID: Int] = [:]
    let addresses: NetworkPlaces
}

/// A caller's place in a space's queue, until its intent is answered.
private final class CallerPlace: Sendable {
    private let space: Session
    private let caller: CallerID
    private let address: Lock<NetworkPlaces.Place?>

    init(_ space: Session, _ caller: CallerID, _ address: NetworkPlaces.Place) {
        (self.space, self.caller, self.address) = (space, caller, Lock(address))
    }

    /// Also called when its job has gone without an answer. A second call does nothing.
    func leave() {
        if address.withLock({ $0.take() }) != nil { space.leavePlace(of: caller) }
    }

    deinit { leave() }
}

extension Session {
    /// Takes a place for a caller's intent.
    private func takePlace(_ client: SessionClient) throws(StoreError) -> CallerPlace {
        let (caller, limits) = (client.id, shared.limits)
        let addresses = core.withLock { core -> NetworkPlaces? in
            let rare = core.makeRare()
            if rare.places == nil {
                rare.places = CallerPlaces(
                    addresses: NetworkPlaces(limits.queuedInSpace, perNetwork: limits.queuedOfAddress))
            }
            let count = rare.places?.callers[caller] ?? 0
            guard count < limits.queuedOfCaller else { return nil }
            rare.places?.callers[caller] = count + 1
            return rare.places?.addresses
        }
        guard let addresses else { throw .tooManyOfCaller }
        do throws(NetworkPlaces.Refusal) {
            return CallerPlace(self, caller, try addresses.take(for: client.address))
        } catch {
            leavePlace(of: caller)
            throw .tooManyOfCaller
        }
    }

    fileprivate func leavePlace(of caller: CallerID) {
        core.withLock { core in
            guard let rare = core.rare, let count = rare.places?.callers[caller] else { return }
            rare.places?.callers[caller] = count > 1 ? count - 1 : nil
            if rare.places?.callers.isEmpty == true { rare.places = nil }
            core.rest()
        }
    }
}

extension StoreError {
    fileprivate static let tooManyOfCaller = StoreError(
        .busy, "Too many of your intents, or of your address, are already waiting in this shared store.",
        retryAfter: .seconds(1))
}
