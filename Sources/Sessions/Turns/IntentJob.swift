import LibCrypto
import Locking
import MVI
import SessionJournal
import Synchronization
import Tracing
import WireJSON

/// An intent on its way through its session: from a request, or from code outside the features.
final class IntentJob: QueueJob {
    let session: Session
    let request: IntentRequest
    let feature: FeatureID
    let intentID: IntentID
    /// The request's name for the receipt.
    let receipt: ReceiptName?
    private let intent: DecodedIntent
    let outside: Outside?
    private let record: (@Sendable (StoreError) -> RecordedRefusal?)?
    private let whenDone: @Sendable (IntentResult) -> Void
    private let stage: Stage
    /// True if its request was answered before the journal told the outcome.
    private let isAnswered: Atomic<Bool>

    /// An intent of code outside the features: no client's access is judged for it.
    enum Outside {
        case makesStore, needsStore
    }

    /// The progress from earlier runs.
    private struct Stage {
        /// The time and random values of the turn.
        var inputs: TurnInputs?
        /// The intent after interceptors and its check: they judge it once, however often it has to run.
        var judged: RunTurn?
        /// The principal by which they judged: they judge again for another one.
        var judgedAs: Principal?
        /// True if it has passed its check, or was refused by it.
        var isChecked = false
        /// True if it left the queue to wait for another store's observations: later numbers wait for it.
        var isPutOff = false
        /// True if it ran on a store that the journal had, and conflicted with another writer.
        var hasLost = false
    }

    /// - Parameters:
    ///   - outside: nil for a client's intent.
    ///   - record: the answer to an error that consumes its number.
    ///   - completion: called once.
    init(
        _ session: Session, _ request: IntentRequest, _ feature: FeatureID, _ intentID: IntentID,
        _ intent: DecodedIntent, outside: Outside? = nil, record: (@Sendable (StoreError) -> RecordedRefusal?)?,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        receipt = request.receipt(feature)
        stage = Stage(judgedAs: request.client.principal)
        self.request = request
        self.intent = intent
        (self.session, self.feature, self.intentID) = (session, feature, intentID)
        (self.outside, self.record, whenDone) = (outside, record, completion)
        isAnswered = Atomic(false)
    }

    private init(_ job: IntentJob, at stage: Stage) {
        (session, request, feature, intentID) = (job.session, job.request, job.feature, job.intentID)
        (receipt, intent, record, whenDone) = (job.receipt, job.intent, job.record, job.whenDone)
        (outside, self.stage) = (job.outside, stage)
        isAnswered = Atomic(job.isAnswered.load(ordering: .relaxed))
    }

    var isChecked: Bool { stage.isChecked }

    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        var stage = stage
        stage.inputs = inputs ?? stage.inputs
        stage.judged = judged ?? stage.judged
        stage.hasLost = stage.hasLost || onKept
        return IntentJob(self, at: stage)
    }

    /// Returns the job with the intent after its check.
    ///
    /// - Parameter principal: the principal by which the check judged.
    func checked(_ judged: @escaping RunTurn, as principal: Principal?) -> IntentJob {
        IntentJob(self, at: Stage(judged: judged, judgedAs: principal, isChecked: true))
    }

    /// The job while it waits outside the queue.
    var puttingOff: IntentJob {
        var stage = stage
        stage.isPutOff = true
        return IntentJob(self, at: stage)
    }

    var kind: TurnKind { outside == nil ? .intent : .other }
    var lane: JobLane { outside == nil ? .intents : .server }

    // MARK: Arrival and turn

    /// Reserves the request's name and a place in the queue: the checks of `docs/http.md` before the queue, from the
    /// JSON on.
    ///
    /// - Parameter store: the intent's store, if it is in memory.
    func arrive(at store: SessionStore?) {
        if let fault = intent.fault, case .malformed = fault, !hasNumber { return fail(refusal(of: fault)) }
        if let receipt {
            switch session.reserve(receipt) {
            case .reserved: break
            case .done(let receipt): return replay(receipt)
            case .refused(let error): return fail(error)
            }
        }
        // With a number, it consumes that in the number's turn.
        if let fault = intent.fault, !hasNumber { return end(refusal(of: fault)) }
        if case .check(let check) = intent, let store { return session.check(self, check, on: store) }
        session.enqueue(self)
    }

    /// Makes the checks of `docs/http.md` in the queue: access, number, `If-Match`, intent. The rest is the turn's.
    func run() -> WaitingJob? {
        guard session.mayRun else { return end(as: .elsewhere(.elsewhere)) }
        let (limits, client) = (session.shared.limits, request.client)
        let lives = session.shared.features.mortal.isEmpty ? nil : session.lives
        // Judged before the lock is taken for the rest, unless the lock alone decides.
        if outside == nil, !session.isPlain(client, feature), let no = session.judgeTurn(client, feature, .send) {
            return end(as: .refused(no))
        }
        typealias Found = (StoreError?, judgement: ReceiptBook.Lookup, store: SessionCore.Found, own: ClientSettings?)
        // Destructured at once: each use of a tuple's member copies the tuple.
        let (refusal, judgement, store, own) = session.core.withLock { core -> Found in
            core.batch.isAnswer = true
            if outside == nil {
                core.batch.accessGeneration =
                    core.batch.accessGeneration ?? session.accessGeneration.load(ordering: .relaxed)
                if let no = core.refusal(of: client) { return (no, .reserved, .passive(nil), nil) }
            }
            let found = core.find(feature, limits: limits, lives)
            return (nil, receipt.map { core.judge($0) } ?? .reserved, found, core.settings)
        }
        if let refusal { return end(as: .refused(refusal)) }
        switch judgement {
        case .reserved: break
        case .done: return end(as: .replayed)
        case .refused(let error): return hold() ? nil : end(as: .refused(error))
        }
        let principal = client.principal
        let isOwn = client.credential == nil && client.caller == nil
        let settings = outside != nil ? nil : isOwn ? own : session.settings(of: client)
        do throws(StoreError) {
            switch store {
            case .store(let store, let version, let effects):
                return try run(on: store, as: principal, settings, version: version, after: effects)
            case .passive(let failure?): return end(as: .unavailable(failure))
            case .passive(nil): return WaitingJob(self, in: session, for: [feature])
            case .absent(let refusal, let wasDisposed):
                // Another node disposed of the store that the intent ran on.
                if !wasDisposed, stage.hasLost { throw .storeDisposed }
                if outside == .needsStore { throw .noStore(feature) }
                // A body that is not an intent creates no store.
                if let fault = intent.fault { throw self.refusal(of: fault) }
                try request.check(version: session.core.withLock { $0.lastNumber } + 1)
                if let refusal { throw refusal }
                switch try session.make(feature, for: principal) {
                case .started(let store): return try run(on: store, as: principal, settings, version: nil, after: nil)
                case .waits(let needs): return WaitingJob(self, in: session, for: needs)
                }
            }
        } catch {
            return end(as: .refused(error))
        }
    }

    private func run(
        on store: SessionStore, as principal: Principal?, _ settings: ClientSettings?, version: UInt64?,
        after effects: [Effect]?
    ) throws(StoreError) -> WaitingJob? {
        let run: RunTurn
        if stage.judgedAs == principal, let judged = stage.judged {
            run = judged
        } else {
            switch intent {
            case .fault(let fault): throw refusal(of: fault, version: version)
            case .check(let check): return begin(check, on: store)
            case .turn(let turn, let check):
                if let check = check?(store.runner) { return begin(check, on: store) }
                run = turn
            }
        }
        try request.check(version: version, of: store)
        return session.run(
            TurnCall(
                job: self, store: store,
                context: TurnContext(
                    intentID, store, principal: principal, inputs: stage.inputs, trace: request.trace,
                    sender: request.client.caller.map { session.sender($0, principal, request.client.credential) },
                    settings: settings, origin: request.origin ?? request.client.origin),
                run: run, receipt: receipt),
            after: effects)
    }

    // MARK: End

    private var hasNumber: Bool { if case .sequence? = request.name { true } else { false } }

    /// The answer to store if the error consumes the request's number.
    func recorded(_ error: StoreError) -> RecordedRefusal? { hasNumber ? record?(error) : nil }

    /// The refusal of a body that is not an intent. A failed condition on the state comes before it.
    private func refusal(of fault: WireDecodingError, version: UInt64?? = nil) -> StoreError {
        if case .mismatch = fault {
            do throws(StoreError) { try request.check(version: version ?? session.version(of: feature)) } catch {
                return error
            }
        }
        return StoreError(fault)
    }

    /// Ends without a turn.
    private func end(as outcome: TurnOutcome) -> WaitingJob? {
        var refusal: RecordedRefusal?
        if case .refused(let error) = outcome { refusal = recorded(error) }
        let now = session.shared.time.sinceEpoch()
        session.core.withLock { core in
            if let refusal, let receipt { core.add(refusal, receipt, intentID, now: now) }
            core.joinOther(self, outcome, isKept: refusal != nil)
        }
        return nil
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        defer { freeLater() }
        if case .ran = result.outcome {
            var outcome = IntentOutcome(id: intentID, version: result.state.version, isSettled: isSettled)
            if result.store?.audiences != nil {
                outcome = seen(outcome)
            } else if request.wantsState {
                outcome.state = result.state
                if let store = result.store, store.isObserving { outcome.state?.isStale = store.isStale }
            }
            // A client's is counted with its turn.
            if outside != nil { session.shared.metrics.of(feature.name)?.count(.committed) }
            return answer(outcome)
        }
        release()
        // Without an error, the store was gone when its turn came.
        guard case .replayed = result.outcome else { return fail(result.outcome.error ?? .storeDisposed) }
        let found = receipt.flatMap { receipt in session.core.withLock { $0.receipts[receipt.key] } }
        guard let found else { return fail(.receiptExpired) }
        replay(found)
    }

    /// Ends without a commit.
    func end(_ error: StoreError) {
        release()
        fail(error)
        freeLater()
    }

    /// Continues later numbers of its client that waited for its check or for what it reads.
    private func freeLater() {
        if stage.isChecked {
            session.checkEnded(receipt)
        } else if stage.isPutOff {
            session.leaveCheck(receipt)
        }
    }

    func fail(_ error: StoreError) {
        session.count(.failure(error), feature)
        completion(.failure(error))
    }

    func completion(_ result: IntentResult) { if !isAnswered.load(ordering: .relaxed) { whenDone(result) } }

    func outcomeIsLate(_ error: StoreError) {
        guard outside == nil, !isAnswered.load(ordering: .relaxed) else { return }
        fail(error)
        isAnswered.store(true, ordering: .relaxed)
    }

    private func release() { if let receipt { session.core.withLock { $0.receipts.release(receipt.key) } } }

    /// Answers when no work that the intent launched is running in any store, or after the request's wait.
    func answer(_ outcome: IntentOutcome) {
        guard let wait = request.wait, !isAnswered.load(ordering: .relaxed) else { return complete(outcome) }
        let end: @Sendable (Bool, Bool) -> Void = { [self] isSettled, isGranted in
            var outcome = outcome
            if !outcome.isSettled {
                let present = session.existingState(of: feature, for: request.client)
                // An audience's view was made for who the client was before the wait.
                if present != nil || outcome.state?.audience == nil {
                    outcome.state = present ?? outcome.state
                } else {
                    (outcome.state, outcome.isWithheld) = (nil, true)
                }
            }
            (outcome.isSettled, outcome.isWaitGranted) = (isSettled, isGranted)
            complete(outcome)
        }
        if outcome.isSettled { return end(true, true) }
        let waiting = session.beginWait(until: session.endOfWait(for: wait), of: request.client) { end($0, true) }
        guard let waiting else { return end(false, false) }
        let queue = session.queue
        guard queue.whenSettled(outcome.id, id: waiting.number, { waiting.end(true) }) else { return waiting.end(true) }
        waiting.onTimeout { queue.stopWaiting(for: outcome.id, id: waiting.number) }
    }

    /// Completes without the state if its client may not read that now.
    private func complete(_ outcome: IntentOutcome) {
        guard outcome.state != nil, session.refusal(of: request.client, feature, .read) != nil else {
            return completion(.success(outcome))
        }
        var outcome = outcome
        (outcome.state, outcome.isWithheld) = (nil, true)
        completion(.success(outcome))
    }
}

/// A client's request with an intent.
package struct IntentRequest: Sendable {
    /// The name that makes two requests the same.
    package enum Name: Sendable, Hashable {
        /// `Idempotency-Key`.
        case key(String)
        /// `Intent-Seq` inside `Intent-Epoch`: the intent comes after all with a smaller number.
        case sequence(UInt64, epoch: String)
    }

    /// The JSON object.
    package var body: [UInt8]
    /// The name of the request, so that a repetition does not run again.
    package var name: Name?
    /// Called with the versions of the present state when the intent is about to run. Returns false to refuse it.
    package var ifMatch: (@Sendable (_ versions: ClosedRange<UInt64>) -> Bool)?
    /// The time to wait for the work that the intent launches; nil for no wait. Capped by the limits.
    package var wait: Duration?
    /// True if the outcome should contain the view state.
    package var wantsState: Bool
    /// The span of the request; nil without tracing.
    package var trace: ServiceContext?
    /// The client that sends it.
    package var client: SessionClient
    /// Knows the client's address; nil for code in this process.
    package var origin: (any ClientOrigin)?

    /// Throws if the client's condition on the state fails. Nil is a version that no client can know.
    func check(version: UInt64?) throws(StoreError) {
        if let version, let ifMatch, !ifMatch(version...version) { throw .otherVersion }
    }

    /// The same for a store in memory, whose versions may be those of the client's audience.
    func check(version: UInt64?, of store: SessionStore) throws(StoreError) {
        guard let version, let ifMatch else { return }
        guard let book = store.audiences else { return try check(version: version) }
        let versions = try store.session.versions(book, of: store.feature, version, for: client)
        if !ifMatch(versions ?? version...version) { throw .otherVersion }
    }

    /// The name for the receipt, with a hash that distinguishes a repetition from another request. The hash includes
    /// the feature, since a number is valid for all features of a session.
    func receipt(_ feature: FeatureID) -> ReceiptName? {
        switch name {
        case nil: return nil
        case .key(let key)?:
            return ReceiptName(
                key: .key(client.scoped(key), feature: feature), bodyHash: SHA256.digest(body))
        case .sequence(let number, let epoch)?:
            var hash = SHA256()
            hash.update(Array((feature.text + "\n").utf8)[...])
            hash.update(body[...])
            return ReceiptName(
                key: .sequence(number, epoch: client.scoped(epoch)), bodyHash: hash.digest())
        }
    }
}

extension IntentRequest {
    package init(
        body: [UInt8], name: Name? = nil, ifMatch: (@Sendable (ClosedRange<UInt64>) -> Bool)? = nil,
        wait: Duration? = nil, wantsState: Bool = true, client: SessionClient = SessionClient(),
        trace: ServiceContext? = nil
    ) {
        self.init(
            body: body, name: name, ifMatch: ifMatch, wait: wait, wantsState: wantsState, trace: trace, client: client)
    }
}

extension StoreError {
    fileprivate static let otherVersion = StoreError(
        .preconditionFailed, "The state has none of the requested versions.")
}

/// The outcome of a request with an intent, or its error.
package typealias IntentResult = Result<IntentOutcome, StoreError>
