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
    /// The intent as interceptors left it: they judge it once, however often it has to run.
    private let judged: RunTurn?
    private let completion: @Sendable (IntentResult) -> Void

    init(
        _ session: Session, _ delivery: Delivery, _ feature: FeatureID, makesStore: Bool, _ intentID: IntentID,
        _ receipt: ReceiptName?, inputs: TurnInputs? = nil, judged: RunTurn? = nil,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        self.judged = judged
        (self.session, self.delivery, self.feature, self.makesStore) = (session, delivery, feature, makesStore)
        (self.intentID, self.receipt, self.inputs, self.completion) = (intentID, receipt, inputs, completion)
    }

    var lane: JobLane { .server }

    func run() -> (any QueueJob)? {
        let limits = session.shared.limits
        guard session.mayRun else { return end(as: .elsewhere(.elsewhere)) }
        let (judgement, found) = session.core.withLock { core in
            core.batch.isAnswer = true
            return (receipt.map { core.judge($0) } ?? .next, core.find(feature, limits: limits))
        }
        switch judgement {
        case .next: break
        case .done: return end(as: .replayed)
        case .refused(let error): return end(as: .refused(error))
        }
        do throws(StoreError) {
            switch found {
            case .store(let store, _, _): return run(on: store)
            case .passive(let failure?): return end(as: .unavailable(failure))
            case .passive(nil): return self
            case .absent(let refusal, _):
                guard makesStore else { throw .noStore(feature) }
                if let refusal { throw refusal }
                guard let store = try session.make(feature, for: nil) else { return self }
                return run(on: store)
            }
        } catch {
            return end(as: .refused(error))
        }
    }

    private func run(on store: SessionStore) -> (any QueueJob)? {
        session.run(
            TurnCall(
                job: self, store: store, intentID: intentID, principal: nil,
                progress: TurnProgress(inputs: inputs, judged: nil), run: judged ?? delivery.turn, receipt: receipt))
    }

    /// Ends without a turn.
    private func end(as outcome: TurnOutcome) -> (any QueueJob)? {
        session.core.withLock { $0.joinOther(self, outcome, isKept: false) }
        return nil
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([feature], resume) }

    func again(with progress: TurnProgress) -> any QueueJob {
        DeliveryJob(
            session, delivery, feature, makesStore: makesStore, intentID, receipt,
            inputs: progress.inputs ?? inputs, judged: progress.judged ?? judged, completion: completion)
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        switch result.outcome {
        case .ran: complete(.success(IntentOutcome(id: intentID, version: result.state.version, isSettled: isSettled)))
        case .refused(let error), .unjudged(let error, _), .unavailable(let error), .elsewhere(let error): end(error)
        case .failed(let failure): end(failure.error)
        case .dropped, .needsStore: end(.storeDisposed)
        case .replayed:
            let known = receipt.flatMap { receipt in session.core.withLock { $0.receipts[receipt.key] } }
            guard case .ran(let version)? = known?.outcome else { return end(.storeDisposed) }
            release()
            var outcome = IntentOutcome(id: intentID, version: version, isSettled: true)
            outcome.isReplayed = true
            complete(.success(outcome))
        }
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

/// An intent or an action for a store, from code outside the features, without the feature's type.
package struct Delivery: Sendable {
    /// Its turn on a store of the feature.
    let turn: RunTurn

    /// Interceptors judge it as they do a client's; its asynchronous check is not asked.
    package static func intent<F: Feature>(_ intent: F.Intent, of feature: F.Type) -> Delivery {
        Delivery(turn: TurnRunner<F>.execute(intent))
    }

    package static func action<F: Feature>(_ action: F.Action, of feature: F.Type) -> Delivery {
        Delivery(turn: TurnRunner<F>.perform(action))
    }
}
