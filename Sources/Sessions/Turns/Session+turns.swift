import Locking
import MVI
import SessionJournal
import Tracing

/// A turn that is to be run on a store in memory.
struct TurnCall {
    /// What the turn is of, as far as that decides what becomes of it. Mostly it has no payload: that lies beside the call.
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
    /// The intent as interceptors left it; nil if there are none.
    var judged: RunTurn?
    var kind = Kind.ordinary
    /// The name of what it is the turn of, as its receipt will have it.
    var receipt: ReceiptName?
    /// Whether it is the turn of a failure of the turn before.
    var follows = false

    var start: StoreSlot.Start? { if case .start(let start) = kind { start } else { nil } }
    var isOfReminder: Bool { if case .reminder = kind { true } else { false } }

    /// The stage that a failure is reported with; nil if the job's owner reports it.
    var stage: Failure.Stage? {
        if job is StoreJob, !context.isSent { return nil }
        if start != nil { return .bootstrap }
        return context.intentID == .signIn ? .signIn : .execute
    }

    /// Keeps what a run got of time, chance and judgement for the next one.
    mutating func note(_ turn: TurnResult) {
        if let inputs = turn.inputs { context = context.with(inputs: inputs) }
        guard let judged = turn.judged else { return }
        self.judged = judged
        run = judged
    }

    /// The job that is to run in the place of its own when what the turn waits for is there.
    var waiting: any QueueJob { job.again(context.inputs, judged, onKept: false) }
}

/// What becomes of a turn: the one table of what it is of and how it went.
struct TurnVerdict {
    /// Whether its output and effects are kept. A start is kept also where its code failed: the store is there.
    var keepsTurn = false
    /// The refusal that its receipt may have.
    var refusal: StoreError?
    /// Whether the reminder that it is the turn of is used up.
    var forgetsReminder = false
    /// The failure that the feature is told of in a turn of its own.
    var failure: Failure?

    /// - Parameter isLastTry: whether a reminder whose turn fails is not tried again.
    init(_ kind: TurnCall.Kind, _ outcome: TurnOutcome, isLastTry: Bool) {
        switch (outcome, kind) {
        case (.ran, .ordinary), (.ran, .start): keepsTurn = true
        case (.ran, .reminder): (keepsTurn, forgetsReminder) = (true, true)
        case (.refused(let error), .ordinary), (.unjudged(let error, _), .ordinary): refusal = error
        // A start that was refused has failed; see `runReady`.
        case (.refused, .start), (.unjudged, .start), (.unavailable, .start): keepsTurn = true
        case (.refused, .reminder), (.unjudged, .reminder): forgetsReminder = true
        case (.failed(_, _, let report), .ordinary): failure = report
        case (.failed(_, _, let report), .start): (keepsTurn, failure) = (true, report)
        case (.failed(_, _, let report), .reminder):
            forgetsReminder = isLastTry
            if isLastTry { failure = report }
        case (.unavailable, .ordinary), (.unavailable, .reminder): break
        case (.dropped, _), (.elsewhere, _), (.replayed, _): break
        // It has not run to an end: its job is put back before it has a verdict.
        case (.needsStore, _): break
        }
    }
}

/// What a store in memory is ready for.
enum Preparation {
    /// A turn, with what the batch's turns of the store ask for.
    case ready([Effect])
    /// Its bootstrap waits for another store to be loaded.
    case waits
    /// The store is not there any more.
    case gone
}

/// How a session runs its turns. Only the queue's runner is here.
extension Session {
    /// Runs a turn that a store in memory asks for itself: a step of launched work, the turn of a failure. Returns nil, or
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
            // A step that no client's intent led to has no principal, and a failure is the store's own matter.
            let isRefused = principal != nil && !job.isFailureTurn && !allows(principal, store.feature, .send)
            let refused: RunTurn = { _, _ in TurnResult(.refused(.noAccess(isAnonymous: false))) }
            return runReady(
                TurnCall(job: job, store: store, context: job.context, run: isRefused ? refused : job.turn),
                after: effects)
        }
    }

    /// Runs a turn, and what its store has yet to do before it. Returns nil, or the job to put back if it has to wait for
    /// another store.
    ///
    /// - Parameter effects: what the batch's turns of the store ask for, where that is known and nothing is to be done before.
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

    /// Does what a store has yet to do: bootstrap runs before any other turn of a store.
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

    /// Runs bootstrap as the next turn; false, and nothing has run, if it has to wait for another store.
    private func bootstrap(_ store: SessionStore, _ start: StoreSlot.Start, _ inputs: TurnInputs?) -> Bool {
        let reason: StartReason = if case .restored = start { .restored } else { .new }
        if shared.lease != nil { store.beginAnew() }
        core.withLock { $0.starting.append(store.feature) }
        defer { core.withLock { _ = $0.starting.popLast() } }
        let waiting = runReady(
            TurnCall(
                job: BootstrapJob(self, store), store: store, context: TurnContext(.bootstrap, store, inputs: inputs),
                run: { $0.bootstrap(reason, $1) }, kind: .start(start)),
            after: [])
        return waiting == nil
    }

    /// Makes a store: its bootstrap is its first turn. Nil, and none is made, if that has to wait for another store.
    @discardableResult
    func make(
        _ feature: FeatureID, for principal: Principal?, inputs: TurnInputs? = nil
    ) throws(StoreError) -> SessionStore? {
        let store = try makeStore(feature, stored: nil, principal: principal)
        core.withLock { $0.joinMade(store) }
        if bootstrap(store, .replaces(""), inputs) { return store }
        core.withLock { $0.leaveMade(store) }
        store.endWork()
        return nil
    }

    /// Runs one turn with the intents that it sends to other stores, and that of its failure if it fails. Returns nil; or
    /// the job to put back, and nothing is kept of it, if it has to wait for another store.
    private func runReady(_ call: consuming TurnCall, after effects: [Effect]) -> (any QueueJob)? {
        call.context.earlier = effects
        var turn = call.run(call.store.runner, call.context)
        var chain: [ChainLink] = []
        if case .needsStore = turn.outcome {
            guard let complete = runAgain(&call, turn) else { return call.waiting }
            // It may lose against another writer, and runs again as it was judged.
            turn = TurnResult(complete, judged: complete.judged ?? call.judged, inputs: complete.inputs)
        }
        if !turn.sends.isEmpty {
            call.note(turn)
            guard let end = runChain(call, turn) else { return call.waiting }
            (turn, chain) = end
        }
        // A bootstrap has no sender to be refused to, and runs once.
        if case .start = call.kind, let error = turn.outcome.refusal { turn = turn.undone(call.failed(error)) }
        join(call, turn, chain)
        return nil
    }

    /// Runs the turn of a failure. Where that has to wait for another store, the failure is reported only.
    private func runFailure(_ failure: Failure, on store: SessionStore, _ principal: Principal?) {
        let job = StoreJob(failure, of: nil, on: store, principal: principal)
        guard case .ready(let effects) = prepare(store) else { return }
        _ = runReady(
            TurnCall(job: job, store: store, context: job.context, run: job.turn, follows: true), after: effects)
    }

    /// Adds a turn with its outcome, and its chain's, to the batch; then the turns of their failures.
    private func join(_ call: TurnCall, _ turn: TurnResult, _ chain: [ChainLink]) {
        // Mostly nothing of a turn has a time.
        let hasTimes = call.receipt != nil || !turn.labels.isEmpty || turn.recording != nil || !chain.isEmpty
        let now = hasTimes ? shared.time.sinceEpoch() : .zero
        var isLastTry = false
        if case .reminder(let reminder) = call.kind { isLastTry = core.withLock { $0.isLastTry(of: reminder) } }
        let verdict = TurnVerdict(call.kind, turn.outcome, isLastTry: isLastTry)
        let refusal = verdict.refusal.flatMap { (call.job as? IntentJob)?.recorded($0) }
        core.withLock { core in
            core.loads.forgetTold()
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

/// A store's bootstrap, for when its batch could not be committed.
final class BootstrapJob: QueueJob {
    private let session: Session
    private let store: SessionStore
    private let inputs: TurnInputs?

    init(_ session: Session, _ store: SessionStore, _ inputs: TurnInputs? = nil) {
        (self.session, self.store, self.inputs) = (session, store, inputs)
    }

    // That of a restored store is tried again until it is committed.
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

    func again(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        inputs.map { BootstrapJob(session, store, $0) } ?? self
    }
}
