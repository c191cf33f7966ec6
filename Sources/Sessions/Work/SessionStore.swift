import Locking
import MVI
import Synchronization
import Tracing

/// A store in memory, in which turns run: its launched work with the requests that wait for it, its watchers and its
/// diagnostics.
package final class SessionStore: Sendable {
    struct State {
        var work = WorkTable()
        var beginning: Beginning?
        /// Nil if there is nothing to report.
        var troubles: Troubles?
        /// Nil if it has never observed anything.
        var observing: Observing?
        var isEnded = false

        mutating func note(_ change: (inout StoreDiagnostics) -> Void) {
            let troubles = troubles ?? Troubles()
            change(&troubles.diagnostics)
            self.troubles = troubles
        }
    }

    final class Troubles {
        var diagnostics = StoreDiagnostics()
    }

    /// Those who wait for the first results of observations.
    final class Observing {
        var waiters: [@Sendable () -> Void] = []
        var timer: Task<Void, Never>?
        /// True if the running observations have had their time: nothing waits for them.
        var isOverdue = false
        /// True if a stream shows its state as stale.
        var isShownStale = false
    }

    /// The callbacks after a change of what observations have shown, outside the lock.
    struct Observed {
        var waiters: [@Sendable () -> Void] = []
        var timer: Task<Void, Never>?
        var isFreshAgain = false
    }

    let session: Session
    package let feature: FeatureID
    let definition: FeatureDefinition
    package let runner: any StoreRunner
    /// Makes the working copy the head. A closure, since a call over `StoreRunner` costs 1,000 instructions more.
    let commit: @Sendable () -> Void
    /// Nil if all clients see the same.
    let audiences: AudienceBook?
    /// Writes what others are shown of a client; nil if clients are not shown to each other.
    let presence: FaceWriter?
    private let settings: StoreEnvironment.Shared
    package var environment: StoreEnvironment { StoreEnvironment(feature.text, session.info, settings) }
    var meter: (any StoreMeter)? { settings.settings.meter }
    let state: Lock<State>
    let observes = Atomic(false)

    init(
        _ session: Session, _ feature: FeatureID, _ definition: FeatureDefinition, _ runner: any StoreRunner,
        _ environment: StoreEnvironment, _ beginning: Beginning, audiences: AudienceBook?, presence: FaceWriter?,
        commit: @escaping @Sendable () -> Void
    ) {
        (self.session, self.feature, self.definition, settings) = (session, feature, definition, environment.shared)
        (self.runner, self.commit, self.audiences, self.presence) = (runner, commit, audiences, presence)
        state = Lock(State(beginning: beginning))
        session.shared.metrics.stores.wrappingAdd(1, ordering: .relaxed)
    }

    deinit { session.shared.metrics.stores.wrappingSubtract(1, ordering: .relaxed) }

    /// Its beginning; nil after that is committed.
    var beginning: Beginning? { state.withLock { $0.beginning } }

    /// Notes that its beginning is committed.
    func hasBegun() { state.withLock { $0.beginning = nil } }

    /// True if this process has seen a recording of one session, so that others need not look for one in each turn.
    static let hasRecordings = Atomic(false)

    /// Discards the batch's working copy.
    func rollBack() { runner.rollBack() }

    /// Changes the work under the lock, and runs the follow-up after it, except for starting new work.
    func change<R>(_ body: (inout State, inout WorkChange) -> R) -> (R, started: [WorkStart]) {
        var change = WorkChange()
        let (result, observed) = state.withLock { state in
            let result = body(&state, &change)
            return (result, state.observing == nil ? nil : state.takeObserved())
        }
        for task in change.cancelled { task.cancel() }
        if !change.cancelled.isEmpty { runner.offerState() }
        for action in session.queue.note(change.counts) { action() }
        if let observed { tell(observed) }
        return (result, change.started)
    }

    /// Applies the effects of a committed batch. Returns the work to begin.
    func apply(_ batch: borrowing SessionBatch.Entry) -> [WorkStart] {
        let (effects, count) = (batch.effects, batch.bootstrapEffects)
        var change = WorkChange()
        let observed = state.withLock { state -> Observed? in
            if state.isEnded { return nil }
            if state.observing == nil, batch.observes {
                state.observing = Observing()
                observes.store(true, ordering: .relaxed)
                definition.noteObservation()
            }
            state.work.apply(effects[..<count], isBootstrap: true, &change)
            state.work.apply(effects[count...], isBootstrap: false, &change)
            return state.observing == nil ? nil : state.takeObserved()
        }
        for task in change.cancelled { task.cancel() }
        // It may wait in a task of its own, which nothing cancels.
        if !change.cancelled.isEmpty { runner.offerState() }
        session.queue.noteOfBatch(change.counts)
        if let observed { tell(observed) }
        return change.started
    }

    /// See `TurnHost`, as the next three.
    package func check(_ effects: [Effect], after earlier: [Effect]) throws {
        let limit = environment.workLimit
        // One effect makes at most two pieces: work and its throttle interval or watcher registration.
        let most = 2 * (earlier.count + effects.count)
        let table = state.withLock { state in state.work.count <= limit - most ? nil : state.work }
        guard var table else { return }
        _ = table.simulate(earlier)
        let before = table.count
        let started = table.simulate(effects)
        // A full store may still cancel and replace, unless the replaced work has not ended.
        if table.count > limit, table.count > before || started > 0 { throw WorkLimitExceeded(limit: limit) }
    }

    // MARK: Launched work

    func begin(_ starts: [WorkStart]) {
        for start in starts { begin(start) }
    }

    private func begin(_ start: WorkStart) {
        let context = WorkContext(host: self, token: start.token, origin: start.request.origin)
        let operation = start.request.operation
        let task = Task(executorPreference: environment.executor) { [self] in
            // Canceled before it began: it must not begin.
            guard isLive(context) else { return ended(context) }
            meter?.workBegan()
            defer { meter?.workEnded() }
            do {
                if let tracer = environment.tracer {
                    try await tracer.trace(context.origin, start.request.id, in: environment) {
                        try await operation(context)
                    }
                } else {
                    try await operation(context)
                }
            } catch {
                return failed(context, error) { [self] in ended(context, hasFailed: true) }
            }
            ended(context)
        }
        // The work may have been canceled, or have ended, before its task existed.
        let isKept = state.withLock { $0.work.attach(task, to: start.token) }
        if !isKept { task.cancel() }
    }

    /// Reports a throw of launched work and runs `onFailure` in a turn of its own, then `then`: a request that waits
    /// for the intent to settle sees the resulting state. A throw of canceled work is not reported.
    private func failed(_ context: WorkContext, _ error: any Error, then: (@Sendable () -> Void)?) {
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
        tell(failure)
        session.enqueue(StoreJob(failure, of: context, on: self, principal: context.origin.principal, then: then))
    }

    private func ended(_ context: WorkContext, hasFailed: Bool = false) {
        begin(change { $0.work.ended(context.token, hasFailed: hasFailed, &$1) }.started)
    }

    /// Returns true if a step of the work is still accepted, in a batch whose earlier turns ask for those effects.
    /// Counts a step that comes after the end of the store, or of the work itself.
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

    package func isRunning(_ id: WorkID, after earlier: [Effect], _ effects: [Effect]) -> Bool {
        let changes = earlier.filter { $0.concerns(id) } + effects.filter { $0.concerns(id) }
        let (isRunning, table) = state.withLock { state in
            (state.work.isRunning(id), changes.isEmpty ? nil : state.work)
        }
        guard var table else { return isRunning }
        _ = table.simulate(changes)
        return table.isRunning(id)
    }

    package func parts(after effects: [Effect]) -> Set<PartName> {
        state.withLock { $0.work.parts }.union(effects.lazy.compactMap(\.part))
    }

    /// The names of the running work, for tests. Intervals of `throttle` are not the feature's work.
    package var workInProgress: [String] { state.withLock { $0.work.inProgress } }

    /// True if the store may leave memory without a loss: no work runs or waits, and only bootstrap has registered
    /// work. Calls nothing, so that it may be used under a lock.
    package var isDormant: Bool { state.withLock { $0.work.isDormant } }

    var isDormantThoughWatched: Bool { state.withLock { $0.work.isDormantThoughWatched } }
    var countedIntents: Set<IntentID> { state.withLock { $0.work.countedIntents } }

    /// The reasons why `isDormant` is false, each a part of a sentence; otherwise empty. For tests of features.
    package var obstacles: [String] { state.withLock { $0.work.obstacles } }

    /// Adds a watcher. Work that runs `whileWatched` starts with the first. Returns false after the store's end.
    @discardableResult
    package func beginWatching() -> Bool {
        let (isAlive, started) = change { state, change in
            if !state.isEnded { state.work.beginWatching(&change) }
            return !state.isEnded
        }
        begin(started)
        return isAlive
    }

    /// Removes a watcher. An extra call does nothing.
    package func endWatching() { begin(state.withLock { $0.work.watching.end() }) }

    func begin(_ graces: [Watching.Grace]) {
        for grace in graces {
            let task = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
                // Canceled by a returning user, or by the store's end.
                guard (try? await clock.sleep(for: grace.time)) != nil else { return }
                _ = self?.change { if $0.work.watching.end(grace) { $0.work.cancelAll(grace.id, &$1) } }
            }
            let isKept = state.withLock { $0.work.watching.attach(task, to: grace) }
            if !isKept { task.cancel() }
        }
    }

    // MARK: Work of another process

    /// True if work runs or waits whose progress only this process knows. May be called under a lock.
    package var isBusy: Bool { state.withLock { $0.work.isBusy } }

    /// True if work would run for watchers if it were not paused. May be called under a lock.
    package var isHeldBack: Bool { state.withLock { $0.work.isHeldBack } }

    /// True if there is a watcher.
    package var isWatched: Bool { state.withLock { $0.work.watching.isWatched } }

    /// True if there is a watcher, or a reader for an observation.
    func isUsed(for effect: Effect) -> Bool {
        state.withLock {
            $0.work.watching.isWatched || effect.request?.isObservation == true && $0.work.watching.isUsed
        }
    }

    /// Cancels all work, and starts none until `resume`: another process runs the store's turns. Callers that wait for
    /// it to settle are told.
    package func pause() { _ = change { $0.work.pause(&$1) } }

    /// Starts no work until `resume`: any process may run the store's turns. Work registered for watchers stays.
    package func hold() { _ = change { $0.work.hold(&$1) } }

    /// Drops work registered for watchers if paused, since the next bootstrap registers it anew.
    package func beginAnew() { _ = change { if $0.work.isPaused { $0.work.pause(&$1) } } }

    /// Lets work start, and starts work that is registered for watchers if there are any.
    package func resume() {
        let started = change { state, change in if !state.isEnded { state.work.resume(&change) } }.started
        begin(started)
    }

    // MARK: Diagnostics

    /// The store's own diagnostics, as far as they are counted here.
    package var diagnostics: StoreDiagnostics {
        state.withLock { state in
            var diagnostics = state.troubles?.diagnostics ?? StoreDiagnostics()
            diagnostics.runningWork = state.work.runningCount
            return diagnostics
        }
    }

    package func note(_ change: (inout StoreDiagnostics) -> Void) { state.withLock { $0.note(change) } }

    /// Counts and reports a throw that observers are not told of with a turn.
    func tell(_ failure: Failure) {
        report(failure)
        runner.observe(failure: failure)
    }

    /// Counts and reports a throw in a feature's code.
    package func report(_ failure: Failure) {
        note {
            $0.failures += 1
            if failure.stage == .bootstrap { $0.bootstrapFailure = failure }
        }
        environment.report(.failure(failure, in: environment.place))
    }

    package func tookLong(_ nanoseconds: UInt64, _ intentID: IntentID) {
        note { $0.slowTurns += 1 }
        environment.report(
            .slowTurn(.nanoseconds(Int64(clamping: nanoseconds)), intentID, in: environment.place))
    }

    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Cancels all work and starts no more. Callers that wait for it to settle are told. A second call does nothing and
    /// returns false.
    @discardableResult
    func endWork() -> Bool {
        change { state, change in
            defer { state.isEnded = true }
            if !state.isEnded { state.work.removeAll(&change) }
            return !state.isEnded
        }.0
    }

    /// Ends the store: its work is canceled, observers are told. A second call does nothing.
    func end() { if endWork() { runner.observeEnd() } }
}

/// Services for its turns.
extension SessionStore: TurnHost {
    package func check(_ reminders: [EncodedReminder]) throws { try session.check(reminders, of: feature) }

    package func runner(of instance: String, for principal: Principal?, isAtOnce: Bool) throws -> any StoreRunner {
        try session.runner(of: instance, for: principal, isAtOnce: isAtOnce)
    }

    @usableFromInline package var isRecorded: Bool {
        guard Self.hasRecordings.load(ordering: .relaxed) else { return false }
        let now = session.shared.time.sinceEpoch()
        return session.core.withLock { $0.isRecorded(now: now) }
    }

    package var isShared: Bool { session.space != nil }

    package func number(of instance: String) -> UInt64 { session.number(of: instance) }

    package func viewers(of instance: String) -> KnownViewers { session.viewers(of: feature, definition) }

    package func noteGonePart() { note { $0.droppedForGoneParts += 1 } }
}

/// Services for its launched work.
extension SessionStore: WorkHost {
    package func step(of work: WorkContext, _ turn: @escaping RunTurn) async -> (any Error)? {
        // Canceled work does not wait for its turn.
        guard acceptsStep(of: work.token) else { return nil }
        // The context of the work's own code.
        let trace = environment.tracer == nil ? nil : ServiceContext.current
        return await withCheckedContinuation { continuation in
            session.enqueue(
                StoreJob(step: turn, of: work, on: self, trace: trace) { continuation.resume(returning: $0) })
        }
    }

    package func noteFirstResult(of work: WorkContext) {
        begin(change { state, _ in state.work.noteFirstResult(of: work.token) }.started)
    }

    func isObservation(_ token: WorkToken) -> Bool { state.withLock { $0.work.isObservation(token) } }

    package func isLive(_ work: WorkContext) -> Bool { state.withLock { $0.work.isLive(work.token) } }

    package func failed(_ work: WorkContext, _ error: any Error) { failed(work, error, then: nil) }
}
