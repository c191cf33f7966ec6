import Locking
import MVI

/// What launched work lives in: which of it runs, who waits for it, who watches the store; and the store's diagnostics.
/// It knows nothing of the feature's type.
package final class StoreScope: Sendable {
    private struct State {
        var work = WorkTable()
        /// Nil as long as there is nothing to tell.
        var troubles: Troubles?
        var isEnded = false

        mutating func note(_ change: (inout StoreDiagnostics) -> Void) {
            let troubles = troubles ?? Troubles()
            change(&troubles.diagnostics)
            self.troubles = troubles
        }
    }

    private final class Troubles {
        var diagnostics = StoreDiagnostics()
    }

    package let environment: StoreEnvironment
    private let state = Lock(State())

    /// The queue of the store's turns, which counts the work of each intent.
    private let queue: TurnQueue

    init(_ environment: StoreEnvironment, _ queue: TurnQueue) { (self.environment, self.queue) = (environment, queue) }

    /// Changes the work under the lock, and does all that follows after it but to begin what was started.
    private func change<R>(_ body: (inout State, inout WorkChange) -> R) -> (R, started: [WorkStart]) {
        var change = WorkChange()
        let result = state.withLock { body(&$0, &change) }
        for task in change.cancelled { task.cancel() }
        for action in queue.note(change.counts) { action() }
        return (result, change.started)
    }

    /// Takes the effects of a committed batch; returns the work to begin.
    func apply(_ batch: borrowing SessionBatch.Entry) -> [WorkStart] {
        let (effects, count) = (batch.effects, batch.bootstrapEffects)
        var change = WorkChange()
        state.withLock { state in
            if state.isEnded { return }
            state.work.apply(effects[..<count], isBootstrap: true, &change)
            state.work.apply(effects[count...], isBootstrap: false, &change)
        }
        for task in change.cancelled { task.cancel() }
        queue.noteOfBatch(change.counts)
        return change.started
    }

    /// Throws if the store would have too much work with these effects, after those of the batch's earlier turns.
    func check(_ effects: [Effect], after earlier: [Effect]) throws {
        let limit = environment.workLimit
        // One effect makes two pieces at most: work and what holds it back or keeps it registered.
        let most = 2 * (earlier.count + effects.count)
        let table = state.withLock { state in state.work.count <= limit - most ? nil : state.work }
        guard var table else { return }
        _ = table.simulate(earlier)
        let before = table.count
        let started = table.simulate(effects)
        // A store that is full may still cancel and replace, unless what it replaced has not ended.
        if table.count > limit, table.count > before || started > 0 { throw WorkLimitExceeded(limit: limit) }
    }

    // MARK: Launched work

    func begin(_ starts: [WorkStart], on store: SessionStore) {
        for start in starts { begin(start, on: store) }
    }

    private func begin(_ start: WorkStart, on store: SessionStore) {
        let context = WorkContext(host: store, token: start.token, origin: start.request.origin)
        let operation = start.request.operation
        let task = Task(executorPreference: environment.executor) { [self] in
            // Cancelled before it began: it must not begin.
            guard isLive(start.token) else { return ended(context, on: store) }
            environment.meter?.workBegan()
            defer { environment.meter?.workEnded() }
            do {
                if let tracer = environment.tracer {
                    try await tracer.trace(context.origin, start.request.id, in: environment) {
                        try await operation(context)
                    }
                } else {
                    try await operation(context)
                }
            } catch {
                return workFailed(context, on: store, error: error) { [self] in ended(context, on: store) }
            }
            ended(context, on: store)
        }
        // The work may have been cancelled, or have ended, before its task existed.
        let isKept = state.withLock { $0.work.attach(task, to: start.token) }
        if !isKept { task.cancel() }
    }

    /// Reports a throw of launched work and runs `onFailure` in a turn of its own, then `then`: a request that waits for
    /// the intent to settle sees the state that the failure led to. A throw of cancelled work is not reported.
    func workFailed(
        _ context: WorkContext, on store: SessionStore, error: any Error, then: (@Sendable () -> Void)? = nil
    ) {
        let failure = state.withLock { state -> Failure? in
            guard state.work.isLive(context.token) else { return nil }
            return Failure(
                stage: .work(state.work.id(of: context.token)), intentID: context.origin.intentID,
                intent: context.origin.intent, error: error)
        }
        guard let failure else {
            then?()
            return
        }
        report(failure, on: store)
        store.session.enqueue(
            StoreJob(failure, of: context, on: store, principal: context.origin.principal, then: then))
    }

    private func ended(_ context: WorkContext, on store: SessionStore) {
        begin(change { $0.work.ended(context.token, &$1) }.started, on: store)
    }

    /// Whether a step of the work is still taken, in a batch whose earlier turns ask for those effects. Counts one that comes
    /// after the end of the store, or of the work itself.
    package func acceptsStep(of token: WorkToken, after earlier: [Effect] = []) -> Bool {
        state.withLock { state in
            if state.isEnded {
                state.note { $0.droppedAfterEnd += 1 }
            } else if state.work.hasEnded(token) {
                state.note { $0.droppedLateSteps += 1 }
            }
            return state.work.isLive(token, after: earlier)
        }
    }

    /// Whether the work runs.
    func isLive(_ token: WorkToken) -> Bool { state.withLock { $0.work.isLive(token) } }

    /// Whether work of that id would run or wait after the effects of the batch's earlier turns and those of a turn.
    func isRunning(_ id: WorkID, after earlier: [Effect], _ effects: [Effect]) -> Bool {
        let changes = earlier.filter { $0.concerns(id) } + effects.filter { $0.concerns(id) }
        let (isRunning, table) = state.withLock { state in
            (state.work.isRunning(id), changes.isEmpty ? nil : state.work)
        }
        guard var table else { return isRunning }
        _ = table.simulate(changes)
        return table.isRunning(id)
    }

    /// The parts that have work, after the effects of turns that are not committed yet.
    func parts(after effects: [Effect]) -> Set<PartName> {
        state.withLock { $0.work.parts }.union(effects.lazy.compactMap(\.part))
    }

    /// The names of the work that runs, for tests; the intervals of `throttle` are not work of the author's.
    package var workInProgress: [String] { state.withLock { $0.work.inProgress } }

    /// Whether nothing would be missed if the store left memory: no work runs, waits or is registered by anything but
    /// bootstrap. Calls nothing, so that it may be asked under a lock.
    package var isDormant: Bool { state.withLock { $0.work.isDormant } }

    /// Why `isDormant` does not hold, each a sentence's part; empty if it does. For tests of features.
    package var obstacles: [String] { state.withLock { $0.work.obstacles } }

    /// One more watcher: work that runs `whileWatched` starts with the first. False, and nothing happens, after the end.
    @discardableResult
    package func beginWatching(on store: SessionStore) -> Bool {
        let (isAlive, started) = change { state, change in
            if !state.isEnded { state.work.beginWatching(&change) }
            return !state.isEnded
        }
        begin(started, on: store)
        return isAlive
    }

    /// One watcher less. One call too many does nothing.
    package func endWatching() {
        let (generation, graces) = state.withLock { $0.work.watching.end() }
        for (id, grace) in graces {
            let task = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
                // Called off by a watcher who came back, or by the store's end.
                guard (try? await clock.sleep(for: grace)) != nil else { return }
                _ = self?.change { if $0.work.watching.graceOver(id, generation) { $0.work.cancelAll(id, &$1) } }
            }
            let isKept = state.withLock { $0.work.watching.attach(task, generation: generation) }
            if !isKept { task.cancel() }
        }
    }

    // MARK: Work of another process

    /// Whether work runs or waits, of which only this process knows how it goes on. May be asked under a lock.
    package var isBusy: Bool { state.withLock { $0.work.isBusy } }

    /// Whether work would run for watchers, if it were not paused. May be asked under a lock.
    package var isHeldBack: Bool { state.withLock { $0.work.isHeldBack } }

    /// Whether somebody watches.
    package var isWatched: Bool { state.withLock { $0.work.watching.isWatched } }

    /// Cancels all work, and starts none until `resume`: another process runs the store's turns. What waited for it to
    /// settle is told so.
    package func pause() { _ = change { $0.work.pause(&$1) } }

    /// Starts no work until `resume`: any process may run the store's turns. What is registered for watchers stays.
    package func hold() { _ = change { $0.work.hold(&$1) } }

    /// A life begins whose bootstrap registers anew what runs for watchers: what was registered before does not start.
    package func beginAnew() { _ = change { if $0.work.isPaused { $0.work.pause(&$1) } } }

    /// Lets work start, and starts what is registered for watchers if there are any.
    package func resume(on store: SessionStore) {
        let started = change { state, change in if !state.isEnded { state.work.resume(&change) } }.started
        begin(started, on: store)
    }

    // MARK: Condition

    /// The store's own condition, as far as it is counted here.
    package var diagnostics: StoreDiagnostics {
        state.withLock { state in
            var diagnostics = state.troubles?.diagnostics ?? StoreDiagnostics()
            diagnostics.runningWork = state.work.runningCount
            return diagnostics
        }
    }

    package func note(_ change: (inout StoreDiagnostics) -> Void) { state.withLock { $0.note(change) } }

    /// Counts and reports a throw that observers are not told of with a turn.
    func report(_ failure: Failure, on store: SessionStore) {
        report(failure)
        store.runner.observe(failure: failure)
    }

    /// Counts and reports a throw in an author's code.
    package func report(_ failure: Failure) {
        note {
            $0.failures += 1
            if failure.stage == .bootstrap { $0.bootstrapFailure = failure }
        }
        environment.report(.failure(failure, in: environment.place))
    }

    func tookLong(_ nanoseconds: UInt64, _ intentID: IntentID) {
        note { $0.slowTurns += 1 }
        environment.report(
            .slowTurn(.nanoseconds(Int64(clamping: nanoseconds)), intentID, in: environment.place))
    }

    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Cancels all work and starts no more. What waited for it to settle is told so. A second call does nothing, and
    /// returns false.
    @discardableResult
    package func end() -> Bool {
        change { state, change in
            defer { state.isEnded = true }
            if !state.isEnded { state.work.removeAll(&change) }
            return !state.isEnded
        }.0
    }
}
