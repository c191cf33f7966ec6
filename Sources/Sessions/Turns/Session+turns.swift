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
        /// A message of another log.
        case message(ToldMessage)
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
    /// The outcomes that an intent for one of these instances leads to, since it could not be created.
    var notMade: [String: TurnOutcome] = [:]
    /// The number of times that it was undone for what it lacked.
    var rounds = 0

    var start: StoreSlot.Start? { if case .start(let start) = kind { start } else { nil } }
    /// True if it ends with a row of a journal, and is committed even if it changes nothing.
    var removesRow: Bool {
        switch kind {
        case .reminder, .message: true
        case .ordinary, .start: false
        }
    }

    /// The stage that a failure is reported with; nil if the job's owner reports it.
    var stage: Failure.Stage? {
        if job is StoreJob, !context.isSent { return nil }
        if start != nil { return .bootstrap }
        return context.intentID == .signIn ? .signIn : .execute
    }

    /// Stores a run's time, random values and judgment for the next one, with the inputs of the turns of its chain.
    mutating func note(_ turn: TurnResult, _ links: [TurnInputs?] = []) {
        if !links.isEmpty {
            context = context.with(inputs: (turn.inputs ?? TurnInputs(now: nil)).with(links: links))
        } else if let inputs = turn.inputs {
            context = context.with(inputs: inputs)
        }
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

    /// - Parameter isLastTry: true if a reminder or a message whose turn fails is not retried.
    init(_ kind: TurnCall.Kind, _ outcome: TurnOutcome, isLastTry: Bool) {
        switch (outcome, kind) {
        case (.ran, .ordinary), (.ran, .start), (.ran, .message): keepsTurn = true
        case (.ran, .reminder): (keepsTurn, forgetsReminder) = (true, true)
        case (.refused(let error), .ordinary), (.unjudged(let error, _), .ordinary): refusal = error
        // A refused start has failed; see `runReady`.
        case (.refused, .start), (.unjudged, .start), (.unavailable, .start): keepsTurn = true
        case (.refused, .reminder), (.unjudged, .reminder): forgetsReminder = true
        // The log that told it decides.
        case (.refused, .message), (.unjudged, .message), (.unavailable, .message): break
        case (.failed(_, _, let report), .message): if isLastTry { failure = report }
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
    /// Its bootstrap needs other stores first.
    case waits(JobNeeds)
    /// The store was disposed.
    case gone
}

/// The execution of a session's turns. Called only by the queue's runner.
///
/// No store starts inside a turn or a chain. A turn that needs a store which is not started is undone, with its chain; the
/// store starts as a job of its own, which is committed whatever becomes of the turn; then the turn runs again.
extension Session {
    /// Runs a turn that a store in memory asks for itself: a step of launched work or a failure turn. Returns nil, or
    /// the job to put back if it has to wait for another store.
    func run(_ job: StoreJob) -> WaitingJob? {
        let (store, principal) = (job.store, job.context.principal)
        guard mayRun else {
            drop(job)
            return nil
        }
        switch prepare(store) {
        case .gone:
            drop(job)
            return nil
        case .waits(let needs): return WaitingJob(job, in: self, for: needs)
        case .ready(let effects):
            if let token = job.token, !store.acceptsStep(of: token, after: effects) {
                drop(job)
                return nil
            }
            // A step without a client's intent has no principal, and a failure turn is the store's own.
            let isRefused = principal != nil && !job.isFailureTurn && !allows(principal, store.feature, .send)
            let refused: RunTurn = { _, _ in TurnResult(.refused(.noAccess(isAnonymous: false))) }
            return run(
                TurnCall(job: job, store: store, context: job.context, run: isRefused ? refused : job.turn),
                after: effects)
        }
    }

    /// Runs a turn with the intents that it sends to other stores, the starts that all these need before them, and their
    /// failure turns after them. Returns nil, or the job to put back if a store has to be loaded first.
    ///
    /// - Parameter effects: the effects of the batch's turns of the store, if they are known and no start is pending.
    func run(_ call: consuming TurnCall, after effects: [Effect]? = nil) -> WaitingJob? {
        var (call, effects) = (call, effects)
        // The turns that run again after the present one, the outermost first; and the failure turns to run, the next last.
        var undone: [TurnCall] = []
        var failures: [TurnCall] = []
        var told = 0
        while true {
            switch attempt(&call, after: effects.take()) {
            case .over: break
            case .complete(let turn, let chain):
                let more = join(call, turn, chain)
                if more.isEmpty { break }
                told += more.count
                // Beyond it, features whose failure turns fail each other's are not told any more.
                if told <= Self.chainLimit { failures += more }
            case .needs(.store(let error, let instance)):
                call.context = call.context.with(failures: call.context.failures.merging([instance: error]) { $1 })
                continue
            case .needs(.start(let store)):
                undone.append(call)
                call = start(of: store)
                continue
            case .needs(.creation(let feature)):
                do throws(StoreError) {
                    let store = try add(feature, for: call.context.principal)
                    undone.append(call)
                    call = start(of: store)
                } catch {
                    call.notMade[feature.text] = error.failure == nil ? .refused(error) : call.failed(error)
                    call.context = call.context.with(
                        failures: call.context.failures.merging([feature.text: error]) { $1 })
                }
                continue
            case .needs(.load(let feature)):
                leave(call)
                while !call.follows, let outer = undone.popLast() {
                    call = outer
                    leave(call)
                }
                // A failure turn does not wait: its failure is only reported.
                if !call.follows { return WaitingJob(call.waiting, in: self, for: [feature]) }
            case .needs(.observed(let store)):
                // A failure turn does not wait.
                if call.follows || undone.contains(where: \.follows) {
                    call.context = call.context.readingAtOnce
                    continue
                }
                leave(call)
                while let outer = undone.popLast() {
                    call = outer
                    leave(call)
                }
                return WaitingJob(call.waiting, observing: store)
            }
            guard let next = failures.popLast() ?? undone.popLast() else { return nil }
            call = next
        }
    }

    /// Runs a store's pending start: bootstrap runs before any other turn of a store.
    func prepare(_ store: SessionStore, inputs: TurnInputs? = nil) -> Preparation {
        func look() -> Preparation? {
            core.withLock { core in
                guard let index = core.work(on: store) else { return .gone }
                guard case .done = core.start(at: index) else { return nil }
                return .ready(core.batch.entries[index].effects)
            }
        }
        if let known = look() { return known }
        if let waiting = run(start(of: store, inputs)) { return .waits(waiting.needs) }
        return look() ?? .gone
    }

    /// A created store, or the stores that its bootstrap needs first.
    enum Creation {
        case started(SessionStore)
        case waits(JobNeeds)
    }

    /// Creates a store, with its bootstrap as its first turn.
    func make(_ feature: FeatureID, for principal: Principal?) throws(StoreError) -> Creation {
        let store = try add(feature, for: principal)
        if let waiting = run(start(of: store)) { return .waits(waiting.needs) }
        return .started(store)
    }

    /// Adds a store to the batch, without its start.
    private func add(_ feature: FeatureID, for principal: Principal?) throws(StoreError) -> SessionStore {
        let store = try makeStore(feature, stored: nil, principal: principal)
        let lives = lives
        core.withLock { core in
            core.makeRoom(for: feature, shared.limits, lives)
            core.joinMade(store)
        }
        return store
    }

    /// The turn of a store's pending start.
    private func start(of store: SessionStore, _ inputs: TurnInputs? = nil) -> TurnCall {
        if shared.lease != nil { store.beginAnew() }
        let start = core.withLock { $0.begins(store, by: 1) }
        let reason: StartReason = if case .restored = start { .restored } else { .new }
        return TurnCall(
            job: BootstrapJob(self, store), store: store, context: TurnContext(.bootstrap, store, inputs: inputs),
            run: { $0.bootstrap(reason, $1) }, kind: .start(start))
    }

    /// Gives up a start that has to wait. A store that was created for it is removed.
    private func leave(_ call: TurnCall) {
        guard call.start != nil else { return }
        let wasMade = core.withLock { core in
            _ = core.begins(call.store, by: -1)
            return core.leaveMade(call.store)
        }
        if wasMade { call.store.endWork() }
    }

    /// The maximum number of intents and actions in other stores from one turn, and of other stores it may need.
    static var chainLimit: Int { 64 }

    /// The need of a turn, or of its chain.
    enum Need {
        /// A store in memory to be started.
        case start(SessionStore)
        case creation(FeatureID)
        case load(FeatureID)
        /// A store whose observations have no result yet.
        case observed(SessionStore)
        /// A store that is not available.
        case store(StoreError, String)
    }

    enum Attempt {
        /// The turn has its outcome, and the turns of its chain.
        case complete(TurnResult, [ChainLink])
        /// The turn is undone.
        case needs(Need)
        /// Nothing is left to run: the store has started meanwhile, or it is gone.
        case over
    }

    /// Runs a turn and its chain once.
    private func attempt(_ call: inout TurnCall, after effects: [Effect]?) -> Attempt {
        if let effects {
            call.context.earlier = effects
        } else {
            let found = core.withLock { core -> (isStarted: Bool, effects: [Effect])? in
                guard let index = core.work(on: call.store) else { return nil }
                let isStarted = if case .done = core.start(at: index) { true } else { false }
                return (isStarted, core.batch.entries[index].effects)
            }
            guard let found else {
                drop(call.job)
                return .over
            }
            if call.start != nil {
                if found.isStarted { return .over }
            } else {
                guard found.isStarted else { return .needs(.start(call.store)) }
                call.context.earlier = found.effects
            }
        }
        var turn = call.run(call.store.runner, call.context)
        call.rounds += 1
        if case .needsStore(let instance) = turn.outcome {
            call.note(turn)
            if call.rounds <= Self.chainLimit { return .needs(need(of: instance, for: call)) }
            turn = turn.undone(call.failed(.tooManyStores))
        }
        // After a conflict, it runs again as it was judged.
        if call.judged != nil, turn.judged == nil { turn = TurnResult(turn, judged: call.judged, inputs: turn.inputs) }
        return turn.sends.isEmpty ? .complete(turn, []) : chain(&call, turn)
    }

    /// Adds a turn with its outcome, and its chain's, to the batch. Returns their failure turns, the next last.
    private func join(_ call: TurnCall, _ turn: TurnResult, _ chain: [ChainLink]) -> [TurnCall] {
        var turn = turn
        // A bootstrap has no sender to answer, and runs once.
        if case .start = call.kind, let error = turn.outcome.refusal { turn = turn.undone(call.failed(error)) }
        // In most cases nothing of a turn has a time.
        let hasTimes = call.receipt != nil || !turn.labels.isEmpty || turn.recording != nil || !chain.isEmpty
        let now = hasTimes ? shared.time.sinceEpoch() : .zero
        let isLastTry =
            switch call.kind {
            case .reminder(let reminder): core.withLock { $0.isLastTry(of: reminder) }
            case .message(let message): message.isLastTry
            case .ordinary, .start: false
            }
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
        var failures: [TurnCall] = []
        func tell(_ failure: Failure, on store: SessionStore) {
            let job = StoreJob(failure, of: nil, on: store, principal: call.context.principal)
            failures.append(TurnCall(job: job, store: store, context: job.context, run: job.turn, follows: true))
        }
        if let failure = verdict.failure { tell(failure, on: call.store) }
        // The feature whose turn failed in a chain is told first, each as often as the chain's own.
        if let last = chain.last, case .failed(_, _, let failure?) = last.turn.outcome, !call.removesRow || isLastTry {
            tell(failure, on: last.store)
        }
        return failures
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

    func run() -> WaitingJob? {
        guard session.mayRun else {
            session.drop(self)
            return nil
        }
        guard case .waits(let needs) = session.prepare(store, inputs: inputs) else { return nil }
        return WaitingJob(self, in: session, for: needs)
    }

    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        inputs.map { BootstrapJob(session, store, $0) } ?? self
    }
}
