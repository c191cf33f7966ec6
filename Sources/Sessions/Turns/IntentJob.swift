import Crypto
import Locking
import MVI
import SessionJournal
import Tracing
import WireJSON

/// One request with an intent on its way through its session.
final class IntentJob: QueueJob {
    let session: Session
    let request: IntentRequest
    let feature: FeatureID
    let intentID: IntentID
    let receipt: ReceiptName?
    private let intent: DecodedIntent
    private let record: (@Sendable (StoreError) -> RecordedRefusal?)?
    private let completion: @Sendable (IntentResult) -> Void
    private let stage: Stage

    /// How far it has come in earlier runs.
    private struct Stage {
        /// What it got of time and chance.
        var inputs: TurnInputs?
        /// The intent as interceptors and its check left it: they judge it once, however often it has to run.
        var judged: RunTurn?
        /// The principal by which they did: they judge it anew once it has another.
        var judgedAs: Principal?
        /// Whether it has passed its check, or was refused by it.
        var isChecked = false
        /// Whether it ran on a store that the journal had, and lost against another writer.
        var hasLost = false
    }

    init(
        _ session: Session, _ request: IntentRequest, _ feature: FeatureID, _ intentID: IntentID,
        receipt: ReceiptName?, _ intent: DecodedIntent, record: (@Sendable (StoreError) -> RecordedRefusal?)?,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        (self.session, self.request, self.feature, self.intentID) = (session, request, feature, intentID)
        (self.receipt, self.intent, self.record, self.completion) = (receipt, intent, record, completion)
        stage = Stage(judgedAs: request.client.principal)
    }

    private init(_ job: IntentJob, at stage: Stage) {
        (session, request, feature, intentID) = (job.session, job.request, job.feature, job.intentID)
        (receipt, intent, record, completion) = (job.receipt, job.intent, job.record, job.completion)
        self.stage = stage
    }

    var isChecked: Bool { stage.isChecked }

    func again(with progress: TurnProgress) -> any QueueJob {
        var stage = stage
        stage.inputs = progress.inputs ?? stage.inputs
        stage.judged = progress.judged ?? stage.judged
        stage.hasLost = stage.hasLost || progress.wasOnKeptStore
        return IntentJob(self, at: stage)
    }

    /// The intent as its check left it.
    ///
    /// - Parameter principal: by which it judged.
    func checked(_ judged: @escaping RunTurn, as principal: Principal?) -> IntentJob {
        IntentJob(self, at: Stage(judged: judged, judgedAs: principal, isChecked: true))
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
                if !wasDisposed, stage.hasLost { throw .storeDisposed }
                // A body that is no intent makes no store.
                if let fault = intent.fault { try request.refuse(fault, version: session.version(of: feature)) }
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
        let run: RunTurn
        if stage.judgedAs == principal, let judged = stage.judged {
            run = judged
        } else {
            switch intent {
            case .fault(let fault): try request.refuse(fault, version: version)
            case .check(let check): return begin(check, on: store)
            case .turn(let turn, let check):
                if let check = check?(store.runner) { return begin(check, on: store) }
                run = turn
            }
        }
        try request.check(version: version)
        return session.run(
            TurnCall(
                job: self, store: store, intentID: intentID, principal: principal,
                progress: TurnProgress(inputs: stage.inputs, judged: nil), run: run, receipt: receipt,
                trace: request.trace),
            after: effects)
    }

    private func begin(_ check: PendingCheck, on store: SessionStore) -> (any QueueJob)? {
        session.drop(CheckStart(self, check, store))
        return nil
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

/// What a client asks for with an intent.
package struct IntentRequest: Sendable {
    /// What makes a request the same as another.
    package enum Name: Sendable, Hashable {
        /// `Idempotency-Key`.
        case key(String)
        /// `Intent-Seq` inside `Intent-Epoch`: this one comes after all that have a smaller number.
        case sequence(UInt64, epoch: String)
    }

    /// The JSON object.
    package var body: [UInt8]
    /// Names the request, so that a repetition does not run again.
    package var name: Name?
    /// Asked with the store's version when the intent is about to run; false refuses it.
    package var ifMatch: (@Sendable (_ version: UInt64) -> Bool)?
    /// How long to wait for the work that the intent launches; nil not to. Capped by the limits.
    package var wait: Duration?
    /// Whether the outcome is to have the view state.
    package var wantsState: Bool
    /// The client that sends it.
    package var client: SessionClient
    /// The span that it came in; nil where nothing is traced.
    package var trace: ServiceContext?

    /// A request with a body.
    package init(
        body: [UInt8], name: Name? = nil, ifMatch: (@Sendable (UInt64) -> Bool)? = nil, wait: Duration? = nil,
        wantsState: Bool = true, client: SessionClient = SessionClient(), trace: ServiceContext? = nil
    ) {
        (self.client, self.trace) = (client, trace)
        (self.body, self.name, self.ifMatch, self.wait, self.wantsState) = (body, name, ifMatch, wait, wantsState)
    }

    /// Throws if the client believes something else of the state. Nil is a version that no client can know.
    func check(version: UInt64?) throws(StoreError) {
        if let version, let ifMatch, !ifMatch(version) {
            throw StoreError(.preconditionFailed, "The state has none of the versions that were asked for.")
        }
    }

    /// Refuses a body that is no intent. Order of checks: what the client believes of the state comes before what it asks
    /// for.
    func refuse(_ fault: WireDecodingError, version: UInt64?) throws(StoreError) -> Never {
        if case .mismatch = fault { try check(version: version) }
        throw StoreError(fault)
    }

    /// Its name as the receipt will have it, with a hash that tells a repetition from another request. A number is good
    /// for all features of a session, so there the feature counts.
    func receipt(_ feature: FeatureID) -> ReceiptName? {
        switch name {
        case nil: return nil
        case .key(let key)?:
            return ReceiptName(
                key: .key(client.scoped(key), feature: feature), bodyHash: Array(SHA256.hash(data: body)))
        case .sequence(let number, let epoch)?:
            var hash = SHA256()
            hash.update(data: Array((feature.text + "\n").utf8))
            hash.update(data: body)
            return ReceiptName(
                key: .sequence(number, epoch: client.scoped(epoch)), bodyHash: Array(hash.finalize()))
        }
    }
}

/// What a request with an intent led to, or why it led to nothing.
package typealias IntentResult = Result<IntentOutcome, StoreError>
