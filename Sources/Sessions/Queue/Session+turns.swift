import Locking
import MVI
import SessionJournal
import Tracing

/// A turn that is to be run on a store in memory.
struct TurnCall {
    let job: any QueueJob
    let store: SessionStore
    let intentID: IntentID
    let principal: Principal?
    var inputs: TurnInputs?
    let run: RunTurn
    /// The reminder that it is the turn of.
    var reminder: StoredReminder?
    /// The name of what it is the turn of, as its receipt will have it.
    var receipt: ReceiptName?
    /// What of the store's start it is.
    var start: StoreSlot.Start?
    /// Whether it is the turn of a failure of the turn before.
    var follows = false
    /// Whether another store's turn sent the intent or the action.
    var isSent = false
    /// The span that it belongs to; nil where nothing is traced.
    var trace: ServiceContext?

    /// - Parameter siblings: others than the session's stores as they are; nil for these.
    func context(after effects: [Effect], _ siblings: (any Siblings)? = nil) -> TurnContext {
        TurnContext(
            intentID, store.scope, earlier: effects, principal: principal, inputs: inputs, siblings: siblings,
            trace: trace, isSent: isSent)
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
    /// Runs a turn that a store in memory asks for itself: a step of launched work, the turn of a failure. False if it has
    /// to wait for another store.
    func run(_ job: any TurnJob, on store: SessionStore) -> Bool {
        guard mayRun else {
            drop(job)
            return true
        }
        switch prepare(store) {
        case .gone: drop(job)
        case .waits: return false
        case .ready(let effects):
            if let token = job.token, !store.scope.isLive(token, after: effects) {
                drop(job)
                return true
            }
            // A step that no client's intent led to has no principal, and a failure is the store's own matter.
            let isRefused =
                job.principal != nil && !job.isFailureTurn && !allows(job.principal, store.feature, .send)
            let refused: RunTurn = { _ in .refused(.noAccess(isAnonymous: false)) }
            return run(
                TurnCall(
                    job: job, store: store, intentID: job.intentID, principal: job.principal, inputs: job.inputs,
                    run: isRefused ? refused : job.runTurn, trace: job.trace),
                after: effects)
        }
        return true
    }

    /// Runs an intent on its store, and what the store has yet to do before it. False if it has to wait for another store.
    ///
    /// - Parameter effects: what the batch's turns of the store ask for, where nothing is to be done before.
    func run(
        _ job: IntentJob, _ intent: @escaping RunTurn, as principal: Principal?, on store: SessionStore,
        after effects: [Effect]?
    ) -> Bool {
        let call = TurnCall(
            job: job, store: store, intentID: job.intentID, principal: principal, inputs: job.inputs,
            run: intent, receipt: job.receipt, trace: job.request.trace)
        if let effects { return run(call, after: effects) }
        return run(call)
    }

    /// Runs a turn, and what its store has yet to do before it. False if it has to wait for another store.
    func run(_ call: TurnCall) -> Bool {
        switch prepare(call.store) {
        case .ready(let effects): return run(call, after: effects)
        case .waits: return false
        case .gone:
            drop(call.job)
            return true
        }
    }

    /// Does what a store has yet to do: bootstrap runs before any other turn of a store.
    @discardableResult
    func prepare(_ store: SessionStore, inputs: TurnInputs? = nil) -> Preparation {
        let (start, effects) = core.withLock { core -> (StoreSlot.Start, [Effect]?) in
            guard let index = core.work(on: store) else { return (.done, nil) }
            return (core.start(at: index), core.batch.stores[index].effects)
        }
        if case .done = start { return effects.map { .ready($0) } ?? .gone }
        guard bootstrap(store, start, inputs) else { return .waits }
        return prepare(store)
    }

    /// Runs bootstrap as the next turn; false, and nothing has run, if it has to wait for another store.
    private func bootstrap(_ store: SessionStore, _ start: StoreSlot.Start, _ inputs: TurnInputs?) -> Bool {
        let reason: StartReason = if case .restored = start { .restored } else { .new }
        core.withLock { $0.starting.append(store.feature) }
        defer { core.withLock { _ = $0.starting.popLast() } }
        return run(
            TurnCall(
                job: BootstrapJob(self, store), store: store, intentID: .bootstrap, principal: nil, inputs: inputs,
                run: store.runner.bootstrap(reason), start: start),
            after: [])
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
        return nil
    }

    /// Runs one turn with the intents that it sends to other stores, and that of its failure if it throws. False, and
    /// nothing is kept of it, if it has to wait for another store.
    private func run(_ call: TurnCall, after effects: [Effect]) -> Bool {
        var turn = call.run(call.context(after: effects))
        var chain: [ChainLink]?
        if turn.sequel?.missing != nil {
            guard let complete = runAgain(call, after: effects, turn) else { return false }
            turn = complete
        }
        if turn.sequel?.sends.isEmpty == false {
            guard let end = runChain(call, turn) else { return false }
            (turn, chain) = end
        }
        join(call, turn, chain)
        guard let trouble = turn.trouble, trouble.isHandedToFeature, let failure = trouble.failure else { return true }
        if let reminder = call.reminder, isTriedAgain(reminder) { return true }
        runFailure(failure, on: call.store, call.principal)
        return true
    }

    /// Runs the turn of a failure. Where that has to wait for another store, the failure is reported only.
    func runFailure(_ failure: Failure, on store: SessionStore, _ principal: Principal?) {
        let job = FailureJob(failure, of: nil, on: store, principal: principal)
        guard case .ready(let effects) = prepare(store) else { return }
        _ = run(
            TurnCall(
                job: job, store: store, intentID: failure.intentID, principal: principal, run: job.runTurn,
                follows: true),
            after: effects)
    }

    /// Adds a turn that ran, and its chain's, to the batch.
    private func join(_ call: TurnCall, _ turn: TurnResult, _ chain: [ChainLink]?) {
        let refusal = turn.trouble?.error.flatMap { (call.job as? IntentJob)?.recorded($0) }
        // Mostly nothing of a turn has a time.
        let hasTimes =
            call.receipt != nil || turn.output.hasTimes || chain?.contains { $0.turn.output.hasTimes } == true
        let now = hasTimes ? shared.time.sinceEpoch() : .zero
        core.withLock { core in
            guard let index = core.work(on: call.store) else { return core.joinOther(call.job, isKept: false) }
            core.join(call, turn, at: index, refusal: refusal, links: chain?.map(\.store), now: now)
            for link in chain ?? [] { core.join(link, call, now: now) }
        }
        guard let chain, let trouble = chain.last?.turn.trouble, trouble.isHandedToFeature,
            let failure = trouble.failure,
            let store = chain.last?.store
        else { return }
        runFailure(failure, on: store, call.principal)
    }

    func drop(_ job: any QueueJob) { core.withLock { $0.joinOther(job, isKept: false) } }
}

extension TurnOutput {
    fileprivate var hasTimes: Bool { !labels.isEmpty || recording != nil }
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

    func run() -> Bool {
        guard session.mayRun else {
            session.drop(self)
            return true
        }
        if case .waits = session.prepare(store, inputs: inputs) { return false }
        return true
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([], resume) }

    func again(after result: JobResult) -> any QueueJob {
        result.turn?.inputs.map { BootstrapJob(session, store, $0) } ?? self
    }
}
