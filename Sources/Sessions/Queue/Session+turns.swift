import Locking
import MVI
import SessionJournal

/// How a session runs its turns. Only the queue's runner is here.
extension Session {
    /// Runs a turn that a store in memory asks for itself: a step of launched work, the turn of a failure.
    func run(_ job: any TurnJob, on store: SessionStore) {
        guard let effects = prepare(store) else { return drop(job) }
        if let token = job.token, !store.scope.isLive(token, after: effects) { return drop(job) }
        runTurn(job, on: store, job.intentID, after: effects, job.runTurn)
    }

    /// Runs an intent on its store, and what the store has yet to do before it.
    ///
    /// - Parameter effects: what the batch's turns of the store ask for, where nothing is to be done before.
    func run(_ job: IntentJob, _ intent: RunTurn, on store: SessionStore, after effects: [Effect]?) {
        guard let effects = effects ?? prepare(store) else { return drop(job) }
        runTurn(job, on: store, job.intentID, after: effects, intent, for: job)
    }

    /// Does what a store has yet to do: bootstrap runs before any other turn of a store. Returns what the batch's turns of
    /// the store ask for; nil if the store is not there any more.
    @discardableResult
    func prepare(_ store: SessionStore) -> [Effect]? {
        let (start, effects) = core.withLock { core -> (StoreSlot.Start, [Effect]?) in
            guard let index = core.work(on: store) else { return (.done, nil) }
            return (core.start(at: index), core.batch.stores[index].effects)
        }
        if case .done = start { return effects }
        bootstrap(store, start)
        return prepare(store)
    }

    private func bootstrap(_ store: SessionStore, _ start: StoreSlot.Start) {
        let reason: StartReason = if case .restored = start { .restored } else { .new }
        // That of a restored store is tried again until it is committed.
        let job = FunctionJob(.steps) { [self] _ in prepare(store) }
        runTurn(job, on: store, .bootstrap, after: [], store.runner.bootstrap(reason), start: start)
    }

    /// Makes a store: its bootstrap is its first turn.
    @discardableResult
    func make(_ feature: FeatureID) throws(StoreError) -> SessionStore {
        let store = try makeStore(feature, stored: nil)
        core.withLock { $0.joinMade(store) }
        bootstrap(store, .replaces(""))
        return store
    }

    /// Runs one turn, and that of its failure if it throws.
    private func runTurn(
        _ job: any QueueJob, on store: SessionStore, _ intentID: IntentID, after effects: [Effect], _ run: RunTurn,
        for intent: IntentJob? = nil, start: StoreSlot.Start? = nil, follows: Bool = false
    ) {
        let turn = run(TurnContext(intentID, store.scope, earlier: effects))
        let refusal = turn.trouble?.error.flatMap { intent?.recorded($0) }
        // Mostly nothing of a turn has a time.
        let hasTimes = intent?.receipt != nil || !turn.output.labels.isEmpty || turn.output.recording != nil
        let now = hasTimes ? shared.time.sinceEpoch() : .zero
        core.withLock { core in
            guard let index = core.work(on: store) else { return core.joinOther(job, isKept: false) }
            core.join(
                job, turn, at: index, intentID, receipt: intent?.receipt, refusal: refusal, start: start,
                follows: follows, now: now)
        }
        guard let trouble = turn.trouble, trouble.isHandedToFeature, let failure = trouble.failure else { return }
        let job = FailureJob(failure, of: nil, on: store)
        runTurn(job, on: store, intentID, after: prepare(store) ?? [], job.runTurn, follows: true)
    }

    private func drop(_ job: any QueueJob) { core.withLock { $0.joinOther(job, isKept: false) } }
}
