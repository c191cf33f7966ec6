import Locking
import MVI
import SessionJournal
import WireJSON

/// One request with an intent on its way through its session.
final class IntentJob: QueueJob {
    let session: Session
    let request: IntentRequest
    let feature: FeatureID
    let intentID: IntentID
    let receipt: ReceiptName?
    /// The principal by which the intent was read, and judged by interceptors and its check: those judge it anew once it has
    /// another.
    private let judgedAs: Principal?
    /// The intent, as the store that was in memory read it from the body.
    private let decoded: (store: SessionStore, run: RunTurn)?
    /// What it got of time and chance when it ran before.
    let inputs: TurnInputs?
    /// Whether it has passed its asynchronous check, or was refused by it.
    let isChecked: Bool
    private let record: (@Sendable (StoreError) -> RecordedRefusal?)?
    private let completion: @Sendable (IntentResult) -> Void
    /// The intent as interceptors left it: they judge it once, however often it has to run.
    private let judged: JudgedTurn?
    /// Whether it ran on a store that the journal had, and lost against another writer.
    private let hasLost: Bool

    init(
        _ session: Session, _ request: IntentRequest, _ feature: FeatureID, _ intentID: IntentID,
        receipt: ReceiptName?, decoded: (store: SessionStore, run: RunTurn)?,
        record: (@Sendable (StoreError) -> RecordedRefusal?)?,
        completion: @escaping @Sendable (IntentResult) -> Void, judged: JudgedTurn? = nil, hasLost: Bool = false,
        inputs: TurnInputs? = nil, isChecked: Bool = false, judgedAs: Principal?
    ) {
        (self.inputs, self.isChecked, self.judgedAs) = (inputs, isChecked, judgedAs)
        (self.session, self.request, self.feature, self.intentID) = (session, request, feature, intentID)
        (self.receipt, self.decoded, self.judged, self.hasLost) = (receipt, decoded, judged, hasLost)
        (self.record, self.completion) = (record, completion)
    }

    func again(with progress: TurnProgress) -> any QueueJob {
        IntentJob(
            session, request, feature, intentID, receipt: receipt, decoded: decoded, record: record,
            completion: completion, judged: progress.judged ?? judged, hasLost: hasLost || progress.wasOnKeptStore,
            inputs: progress.inputs ?? inputs, isChecked: isChecked, judgedAs: judgedAs)
    }

    /// The intent as its check left it.
    ///
    /// - Parameter principal: by which it judged.
    func checked(_ judged: @escaping JudgedTurn, as principal: Principal?) -> IntentJob {
        IntentJob(
            session, request, feature, intentID, receipt: receipt, decoded: nil, record: record,
            completion: completion, judged: judged, isChecked: true, judgedAs: principal)
    }

    var kind: TurnKind { .intent }

    private var hasNumber: Bool { if case .sequence? = request.name { true } else { false } }

    func run() -> (any QueueJob)? {
        let (limits, feature, client) = (session.shared.limits, feature, request.client)
        guard session.mayRun else { return end(as: .elsewhere(.elsewhere)) }
        // Judged before the lock is taken for the rest, unless that alone tells.
        if !session.isPlain(client, feature), let refusal = session.judgeTurn(client, feature, .send) {
            return end(as: .refused(refusal))
        }
        let principal = client.principal
        typealias Found = (judgement: SessionCore.Judgement, store: SessionCore.Found)
        let found = session.core.withLock { core -> Result<Found, StoreError> in
            core.batch.isAnswer = true
            core.batch.judged(by: core.accessGeneration)
            if let refusal = core.refusal(of: client) { return .failure(refusal) }
            return .success((receipt.map { core.judge($0) } ?? .next, core.find(feature, limits: limits)))
        }
        let (judgement, store): Found
        switch found {
        case .success(let found): (judgement, store) = found
        case .failure(let refusal): return end(as: .refused(refusal))
        }
        switch judgement {
        case .next: break
        case .done: return end(as: .replayed)
        case .refused(let error): return hold() ? nil : end(as: .refused(error))
        }
        do throws(StoreError) {
            switch store {
            case .store(let store, let version, let effects):
                return try run(on: store, as: principal, version: version, after: effects)
            case .passive(let failure?): return end(as: .unavailable(failure))
            case .passive(nil): return self
            case .absent(let refusal, let wasDisposed):
                // Another node disposed of the store that the intent ran on.
                if !wasDisposed, hasLost { throw .storeDisposed }
                // A body that is no intent makes no store.
                if let fault = session.shared.features.definition(for: feature)?.intentFault(request.body) {
                    try request.refuse(fault, version: session.version(of: feature))
                }
                try request.check(version: session.core.withLock { $0.lastNumber } + 1)
                if let refusal { throw refusal }
                guard let store = try session.make(feature, for: principal) else { return self }
                return try run(on: store, as: principal, version: nil, after: nil)
            }
        } catch {
            return end(as: .refused(error))
        }
    }

    private func run(
        on store: SessionStore, as principal: Principal?, version: UInt64?, after effects: [Effect]?
    ) throws(StoreError) -> (any QueueJob)? {
        let intent: RunTurn
        if judgedAs == principal, let judged = judged?(store.runner) {
            intent = judged
        } else if judgedAs == principal, let decoded, decoded.store === store {
            intent = decoded.run
        } else {
            switch store.erased.decode(request.body) {
            case .intent(let run): intent = run
            case .check(let check):
                session.drop(CheckStart(self, check, store))
                return nil
            case .fault(let fault): try request.refuse(fault, version: version)
            }
        }
        try request.check(version: version)
        return session.run(
            TurnCall(
                job: self, store: store, intentID: intentID, principal: principal,
                progress: TurnProgress(inputs: inputs, judged: nil), run: intent, receipt: receipt,
                trace: request.trace),
            after: effects)
    }

    /// Waits for the check of an earlier number, if one runs: when it is over, the job is enqueued again.
    private func hold() -> Bool {
        guard let receipt else { return false }
        let limit = session.shared.limits.runningChecks
        let isHeld = session.core.withLock { core in
            guard core.checks?.isHeldUp(receipt) == true, core.checks?.hold(self, receipt, limit: limit) == true else {
                return false
            }
            core.joinOther(FunctionJob(.intents) { _ in }, isKept: false)
            return true
        }
        return isHeld
    }

    /// The answer that is kept if the error uses the request's number up.
    func recorded(_ error: StoreError) -> RecordedRefusal? { hasNumber ? record?(error) : nil }

    /// Ends without a turn.
    private func end(as outcome: TurnOutcome) -> (any QueueJob)? {
        var refusal: RecordedRefusal?
        if case .refused(let error) = outcome { refusal = recorded(error) }
        let now = session.shared.time.sinceEpoch()
        session.core.withLock { core in
            if let refusal, let receipt { core.add(refusal, receipt, intentID, now: now) }
            core.joinOther(self, outcome, isKept: refusal != nil)
        }
        return nil
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([feature], resume) }

    func finished(_ result: JobResult, isSettled: Bool) {
        defer { if isChecked { session.checkEnded(receipt) } }
        switch result.outcome {
        case .ran: ran(result, isSettled: isSettled)
        case .refused(let error), .unjudged(let error, _), .unavailable(let error), .elsewhere(let error):
            release()
            fail(error)
        case .failed(let failure):
            release()
            fail(failure.error)
        case .replayed:
            release()
            let found = receipt.flatMap { receipt in session.core.withLock { $0.receipts[receipt.key] } }
            guard let found else { return fail(.receiptExpired) }
            session.replay(found, request, feature, completion)
        // The store was gone when its turn came.
        case .dropped, .needsStore:
            release()
            fail(.storeDisposed)
        }
    }

    private func ran(_ result: JobResult, isSettled: Bool) {
        var outcome = IntentOutcome(id: intentID, version: result.state.version, isSettled: isSettled)
        if request.wantsState { outcome.state = result.state }
        guard let wait = request.wait else {
            return completion(.success(session.withholding(outcome, from: request.client, feature)))
        }
        session.answerWhenSettled(outcome, wait, feature, request.client, completion)
    }

    func end(_ error: StoreError) {
        release()
        fail(error)
        if isChecked { session.checkEnded(receipt) }
    }

    private func fail(_ error: StoreError) {
        session.count(.failure(error), feature)
        completion(.failure(error))
    }

    private func release() {
        if let receipt { session.core.withLock { $0.receipts.release(receipt.key) } }
    }
}
