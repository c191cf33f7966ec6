import Crypto
import Locking
import MVI
import SessionJournal

/// An intent or an action from code outside the features on its way through a session.
final class DeliveryJob: QueueJob {
    private let session: Session
    private let delivery: Delivery
    private let feature: FeatureID
    private let makesStore: Bool
    private let intentID: IntentID
    private let receipt: ReceiptName?
    private let inputs: TurnInputs?
    private let completion: @Sendable (IntentResult) -> Void

    init(
        _ session: Session, _ delivery: Delivery, _ feature: FeatureID, makesStore: Bool, _ intentID: IntentID,
        _ receipt: ReceiptName?, inputs: TurnInputs? = nil, completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        (self.session, self.delivery, self.feature, self.makesStore) = (session, delivery, feature, makesStore)
        (self.intentID, self.receipt, self.inputs, self.completion) = (intentID, receipt, inputs, completion)
    }

    func run() -> Bool {
        let limits = session.shared.limits
        guard session.mayRun else { return refuse(.elsewhere) }
        let (judgement, found) = session.core.withLock { core in
            core.batch.isAnswer = true
            return (receipt.map { core.judge($0) } ?? .next, core.find(feature, limits: limits))
        }
        switch judgement {
        case .next: break
        case .done: return refuse(nil)
        case .refused(let error): return refuse(error)
        }
        do throws(StoreError) {
            switch found {
            case .store(let store, _, _): return try run(on: store)
            case .passive(let failure?): throw failure
            case .passive(nil): return false
            case .absent(let refusal, _):
                guard makesStore else { throw .noStore(feature) }
                if let refusal { throw refusal }
                guard let store = try session.make(feature, for: nil) else { return false }
                return try run(on: store)
            }
        } catch {
            return refuse(error)
        }
    }

    private func run(on store: SessionStore) throws(StoreError) -> Bool {
        guard let run = delivery.turn(store.runner) else { throw .featureNotFound }
        return session.run(
            TurnCall(
                job: self, store: store, intentID: intentID, principal: nil, inputs: inputs, run: run,
                receipt: receipt))
    }

    private func refuse(_ error: StoreError?) -> Bool {
        session.core.withLock { $0.joinOther(self, error, isKept: false) }
        return true
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([feature], resume) }

    func again(after result: JobResult) -> any QueueJob {
        DeliveryJob(
            session, delivery, feature, makesStore: makesStore, intentID, receipt,
            inputs: result.turn?.inputs ?? inputs, completion: completion)
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        if let error = result.error ?? result.turn?.trouble?.error { return end(error) }
        guard let turn = result.turn, turn.trouble == nil else {
            let known = receipt.flatMap { receipt in session.core.withLock { $0.receipts[receipt.key] } }
            guard case .ran(let version)? = known?.outcome else { return end(.storeDisposed) }
            release()
            var outcome = IntentOutcome(id: intentID, version: version, isSettled: true)
            outcome.isReplayed = true
            return complete(.success(outcome))
        }
        complete(.success(IntentOutcome(id: intentID, version: result.state.version, isSettled: isSettled)))
    }

    func end(_ error: StoreError) {
        release()
        complete(.failure(error))
    }

    private func complete(_ result: IntentResult) {
        session.count(result, feature)
        completion(result)
    }

    private func release() {
        if let receipt { session.core.withLock { $0.receipts.release(receipt.key) } }
    }
}

extension Session {
    /// Runs an intent or an action from outside the features.
    ///
    /// - Parameter once: names it among what comes from outside: the same name does not run again.
    package func deliver(
        _ delivery: Delivery, to feature: FeatureID, once: String?, makesStore: Bool,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        let id = once.map { IntentID("‹outside› \($0)") } ?? .random()
        // No client can write the character.
        let receipt = once.map {
            ReceiptName(
                key: .key("\u{1E}\($0)", feature: feature), bodyHash: Array(SHA256.hash(data: Array(feature.text.utf8)))
            )
        }
        if let receipt {
            let now = shared.time.monotonic()
            let lookup = core.withLock {
                $0.receipts.reserve(receipt.key, bodyHash: receipt.bodyHash, now: now, limits: shared.limits)
            }
            switch lookup {
            case .reserved: break
            case .refused(let error): return completion(.failure(error))
            case .done(let known):
                guard case .ran(let version) = known.outcome else { return completion(.failure(.storeDisposed)) }
                var outcome = IntentOutcome(id: id, version: version, isSettled: true)
                outcome.isReplayed = true
                return completion(.success(outcome))
            }
        }
        startLoads([feature])
        enqueue(DeliveryJob(self, delivery, feature, makesStore: makesStore, id, receipt, completion: completion))
    }
}

extension StoreError {
    fileprivate static func noStore(_ feature: FeatureID) -> StoreError {
        StoreError(Code("noStore"), "The session has no store of \"\(feature)\".")
    }
}
