import Locking
import MVI
import SessionJournal
import Tracing

/// A turn that is to be run on a store in memory.
struct TurnCall {
    /// The origin of the turn, as far as it decides about its result. Usually without a payload.
    indirect enum Kind {
        /// A request, a delivery, launched work, a sign-in, or another store's turn.
        case ordinary
        /// The start of its store.
        case start(StoreSlot.Start)
        case reminder(StoredReminder)
    }

    let job: any QueueJob
    let store: SessionStore
    var context: TurnContext
    var run: RunTurn
    /// The intent after interceptors; nil if there are none.
    var judged: RunTurn?
    var kind = Kind.ordinary
    /// The name of its request for the receipt.
    var receipt: ReceiptName?
    /// True for the failure turn of the turn before.
    var follows = false

    var start: StoreSlot.Start? { if case .start(let start) = kind { start } else { nil } }
    var isOfReminder: Bool { if case .reminder = kind { true } else { false } }

    /// The stage that a failure is reported with; nil if the job's owner reports it.
    var stage: Failure.Stage? {
        if job is StoreJob, !context.isSent { return nil }
        if start != nil { return .bootstrap }
        return context.intentID == .signIn ? .signIn : .execute
    }

    /// Stores a run's time, random values and judgment for the next one.
    mutating func note(_ turn: TurnResult) {
        if let inputs = turn.inputs { context = context.with(inputs: inputs) }
        guard let judged = turn.judged else { return }
        self.judged = judged
        run = judged
    }

    /// The job to run instead, when the turn no longer has to wait.
    var waiting: any QueueJob { job.retry(context.inputs, judged, onKept: false) }
}

/// The consequences of a turn: the one table of its origin and outcome.
struct TurnVerdict {
    /// True if its output and effects are committed. Also for a start whose code failed, since the store exists.
    var keepsTurn = false
    /// The refusal to store as its receipt.
    var refusal: StoreError?
    /// True if its reminder is used up.
    var forgetsReminder = false
    /// The failure that the feature is told of in a turn of its own.
    var failure: Failure?

    /// - Parameter isLastTry: true if a reminder whose turn fails is not retried.
    init(_ kind: TurnCall.Kind, _ outcome: TurnOutcome, isLastTry: Bool) {
        switch (outcome, kind) {
        case (.ran, .ordinary), (.ran, .start): keepsTurn = true
        case (.ran, .reminder): (keepsTurn, forgetsReminder) = (true, true)
        case (.refused(let error), .ordinary), (.unjudged(let error, _), .ordinary): refusal = error
        // A refused start has failed; see `runReady`.
        case (.refused, .start), (.unjudged, .start), (.unavailable, .start): keepsTurn = true
        case (.refused, .reminder), (.unjudged, .reminder): forgetsReminder = true
        case (.failed(_, _, let report), .ordinary): failure = report
        case (.failed(_, _, let report), .start): (keepsTurn, failure) = (true, report)
        case (.failed(_, _, let report), .reminder):
            forgetsReminder = isLastTry
            if isLastTry { failure = report }
        case (.unavailable, .ordinary), (.unavailable, .reminder): break
        case (.dropped, _), (.elsewhere, _), (.replayed, _): break
        // Unfinished: its job is put back before it has a verdict.
        case (.needsStore, _): break
        }
    }
}

/// The readiness of a store in memory.
enum Preparation {
    /// Ready for a turn, with the effects of the batch's turns of the store.
    case ready([Effect])
    /// Its bootstrap waits for another store to be loaded.
    case waits
    /// The store was disposed.
    case gone
}

/// The execution of a session's turns. Called only by the queue's runner.
extension Session {
    /// Runs a turn that a store in memory asks for itself: a step of launched work or a failure turn. Returns nil, or
    /// the job to put back if it has to wait for another store.
    func run(_ job: StoreJob) -> (any QueueJob)? {
        let (store, principal) = (job.store, job.context.principal)
        guard mayRun else {
            drop(job)
            return nil
        }
        switch prepare(store) {
        case .gone:
            drop(job)
            return nil
        case .waits: return job
        case .ready(let effects):
            if let token = job.token, !store.acceptsStep(of: token, after: effects) {
                drop(job)
                return nil
            }
            // A step without a client's intent has no principal, and a failure turn is the store's own.
            let isRefused = principal != nil && !job.isFailureTurn && !allows(principal, store.feature, .send)
            let refused: RunTurn = { _, _ in TurnResult(.refused(.noAccess(isAnonymous: false))) }
            return runReady(
                TurnCall(job: job, store: store, context: job.context, run: isRefused ? refused : job.turn),
                after: effects)
        }
    }

    /// Runs a turn, after its store's pending start. Returns nil, or the job to put back if it has to wait for another
    /// store.
    ///
    /// - Parameter effects: the effects of the batch's turns of the store, if they are known and no start is pending.
    func run(_ call: consuming TurnCall, after effects: [Effect]? = nil) -> (any QueueJob)? {
        if let effects { return runReady(call, after: effects) }
        switch prepare(call.store) {
        case .ready(let effects): return runReady(call, after: effects)
        case .waits: return call.waiting
        case .gone:
            drop(call.job)
            return nil
        }
    }

    /// Runs a store's pending start: bootstrap runs before any other turn of a store.
    @discardableResult
    func prepare(_ store: SessionStore, inputs: TurnInputs? = nil) -> Preparation {
        let (start, effects) = core.withLock { core -> (StoreSlot.Start, [Effect]?) in
            guard let index = core.work(on: store) else { return (.done, nil) }
            return (core.start(at: index), core.batch.entries[index].effects)
        }
        if case .done = start { return effects.map { .ready($0) } ?? .gone }
        guard bootstrap(store, start, inputs) else { return .waits }
        return prepare(store)
    }

    /// Runs bootstrap as the next turn. Returns false, without running it, if it has to wait for another store.
    private func bootstrap(_ store: SessionStore, _ start: StoreSlot.Start, _ inputs: TurnInputs?) -> Bool {
        let reason: StartReason = if case .restored = start { .restored } else { .new }
        if shared.lease != nil { store.beginAnew() }
        core.withLock { $0.makeRare().starting.append(store.feature) }
        defer { core.withLock { _ = $0.rare?.starting.popLast() } }
        let waiting = runReady(
            TurnCall(
                job: BootstrapJob(self, store), store: store, context: TurnContext(.bootstrap, store, inputs: inputs),
                run: { $0.bootstrap(reason, $1) }, kind: .start(start)),
            after: [])
        return waiting == nil
    }

    /// Creates a store, with its bootstrap as its first turn; returns nil if that has to wait for another store.
    @discardableResult
    func make(
        _ feature: FeatureID, for principal: Principal?, inputs: TurnInputs? = nil
    ) throws(StoreError) -> SessionStore? {
        let store = try makeStore(feature, stored: nil, principal: principal)
        core.withLock { core in
            core.makeRoom(for: feature, shared.limits)
            core.joinMade(store)
        }
        if bootstrap(store, .replaces(""), inputs) { return store }
        core.withLock { $0.leaveMade(store) }
        store.endWork()
        return nil
    }

    /// Runs one turn with the intents that it sends to other stores, and its failure turn if it fails. Returns nil, or
    /// the job to put back, without its results, if it has to wait for another store.
    private func runReady(_ call: consuming TurnCall, after effects: [Effect]) -> (any QueueJob)? {
        call.context.earlier = effects
        var turn = call.run(call.store.runner, call.context)
        var chain: [ChainLink] = []
        if case .needsStore = turn.outcome {
            guard let complete = runAgain(&call, turn) else { return call.waiting }
            // After a conflict, it runs again as it was judged.
            turn = TurnResult(complete, judged: complete.judged ?? call.judged, inputs: complete.inputs)
        }
        if !turn.sends.isEmpty {
            call.note(turn)
            guard let end = runChain(call, turn) else { return call.waiting }
            (turn, chain) = end
        }
        // A bootstrap has no sender to answer, and runs once.
        if case .start = call.kind, let error = turn.outcome.refusal { turn = turn.undone(call.failed(error)) }
        join(call, turn, chain)
        return nil
    }

    /// Runs a failure turn. If that has to wait for another store, the failure is only reported.
    private func runFailure(_ failure: Failure, on store: SessionStore, _ principal: Principal?) {
        let job = StoreJob(failure, of: nil, on: store, principal: principal)
        guard case .ready(let effects) = prepare(store) else { return }
        _ = runReady(
            TurnCall(job: job, store: store, context: job.context, run: job.turn, follows: true), after: effects)
    }

    /// Adds a turn with its outcome, and its chain's, to the batch; then their failure turns.
    private func join(_ call: TurnCall, _ turn: TurnResult, _ chain: [ChainLink]) {
        // In most cases nothing of a turn has a time.
        let hasTimes = call.receipt != nil || !turn.labels.isEmpty || turn.recording != nil || !chain.isEmpty
        let now = hasTimes ? shared.time.sinceEpoch() : .zero
        var isLastTry = false
        if case .reminder(let reminder) = call.kind { isLastTry = core.withLock { $0.isLastTry(of: reminder) } }
        let verdict = TurnVerdict(call.kind, turn.outcome, isLastTry: isLastTry)
        let refusal = verdict.refusal.flatMap { (call.job as? IntentJob)?.recorded($0) }
        core.withLock { core in
            core.rare?.loads.forgetTold()
            guard let index = core.work(on: call.store) else {
                return core.joinOther(call.job, .dropped, isKept: false)
            }
            core.join(call, turn, verdict, at: index, refusal: refusal, now: now)
            for link in chain { core.join(link, call, now: now) }
        }
        // The feature whose turn failed in a chain is told first, each as often as the chain's own.
        if let last = chain.last, case .failed(_, _, let failure?) = last.turn.outcome, !call.isOfReminder || isLastTry
        {
            runFailure(failure, on: last.store, call.context.principal)
        }
        if let failure = verdict.failure { runFailure(failure, on: call.store, call.context.principal) }
    }

    func drop(_ job: any QueueJob) { core.withLock { $0.joinOther(job, .dropped, isKept: false) } }
}

/// A store's bootstrap, for the case that its batch could not be committed.
final class BootstrapJob: QueueJob {
    private let session: Session
    private let store: SessionStore
    private let inputs: TurnInputs?

    init(_ session: Session, _ store: SessionStore, _ inputs: TurnInputs? = nil) {
        (self.session, self.store, self.inputs) = (session, store, inputs)
    }

    // A restored store's is retried until it is committed.
    var lane: JobLane { .steps }

    func run() -> (any QueueJob)? {
        guard session.mayRun else {
            session.drop(self)
            return nil
        }
        if case .waits = session.prepare(store, inputs: inputs) { return self }
        return nil
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([], resume) }

    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        inputs.map { BootstrapJob(session, store, $0) } ?? self
    }
}
