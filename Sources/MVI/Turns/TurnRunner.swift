import Locking
import Tracing

/// Runs the turns of one store on a working copy of its state. Only this type knows the feature's type. All functions
/// on the way from the feature's definition are `@inlinable`, so that the compiler specializes them in the author's
/// module.
///
/// The session's queue runs turns, commits and rollbacks on one thread at a time. `state` and `view` can be read from
/// any thread.
@usableFromInline
package final class TurnRunner<F: Feature>: StoreRunner {
    /// Converts the result of a turn into the form that the host stores. Throws if that is impossible, which concerns
    /// only this turn.
    @usableFromInline
    package typealias Output =
        @Sendable (_ turn: borrowing Turn<F>, _ view: F.ViewState, _ isViewChanged: Bool) throws(StoreError) ->
        TurnResult

    @usableFromInline typealias Values = (state: F.State, view: F.ViewState)

    @usableFromInline package let feature: F
    @usableFromInline let interceptors: [Middleware<F>.Interceptor]
    @usableFromInline let observers: ObserverQueue<F>?
    @usableFromInline let environment: StoreEnvironment
    @usableFromInline let output: Output
    /// See `Feature.hasAudiences`.
    @usableFromInline let hasAudiences: Bool
    @usableFromInline let copies: Lock<Copies>

    /// The committed values, and those with the turns of the running batch.
    @usableFromInline
    struct Copies {
        @usableFromInline var head: Values
        /// Nil between batches.
        @usableFromInline var working: Values?
        /// The working copy before the running chain of intents; nil if there is none.
        @usableFromInline var beforeChain: SavedCopy?
        /// True if a turn ever launched work of a part that may leave.
        @usableFromInline var hasPartWork = false
        /// The work that waits for a state, in order; nil if there is none.
        @usableFromInline var waiters: [StateWaiter<F.State>]?

        @inlinable
        init(head: Values) { self.head = head }
    }

    /// A class, since few stores have one.
    @usableFromInline
    final class SavedCopy {
        let working: Values?
        init(_ working: Values?) { self.working = working }
    }

    /// - Parameters:
    ///   - middleware: the middleware of all features, which precedes the feature's own.
    ///   - output: see `Output`.
    @inlinable
    package init(
        _ feature: F, state: F.State, environment: StoreEnvironment, middleware: [any CommonMiddleware],
        output: @escaping Output
    ) {
        self.feature = feature
        self.environment = environment
        self.output = output
        hasAudiences = F.hasAudiences
        let all = Self.combine(middleware, feature)
        interceptors = all.interceptors
        observers = all.isObserving ? ObserverQueue(all) : nil
        copies = Lock(Copies(head: (state, feature.view(state))))
    }

    @usableFromInline
    static func combine(_ common: [any CommonMiddleware], _ feature: F) -> Middleware<F> {
        common.reduce(Middleware<F>()) { $0.combined(with: $1.middleware(for: F.self)) }
            .combined(with: feature.middleware)
    }

    /// The committed state.
    @inlinable package var state: F.State { copies.withLock { $0.head.state } }

    /// The committed view state.
    @inlinable package var view: F.ViewState { copies.withLock { $0.head.view } }

    /// The state after the batch's turns so far.
    @inlinable package var workingState: F.State { copies.withLock { ($0.working ?? $0.head).state } }

    /// The view state after the batch's turns so far.
    package var workingView: F.ViewState { copies.withLock { ($0.working ?? $0.head).view } }

    /// True if a turn is recorded.
    @inlinable
    func isRecorded(_ context: TurnContext) -> Bool {
        environment.shared.settings.isRecording || context.host.isRecorded
    }

    /// Returns the turn of an intent, for any store of the feature.
    @inlinable
    package static func execute(_ intent: F.Intent, isJudged: Bool = false) -> RunTurn {
        { ($0 as? TurnRunner<F>)?.run(intent, $1, isJudged: isJudged) ?? .ofAnotherFeature }
    }

    /// Returns the asynchronous check that runs before an intent is enqueued; nil if there is none.
    @inlinable
    package func check(_ intent: F.Intent) -> PendingCheck? {
        feature.check(intent) == nil ? nil : pendingCheck(of: intent)
    }

    /// Returns the turn of an action, from a reminder or from code outside the features.
    @inlinable
    package static func perform(_ action: F.Action) -> RunTurn {
        { ($0 as? TurnRunner<F>)?.run($1, stage: .execute) { $0.send(action) } ?? .ofAnotherFeature }
    }

    @inlinable
    func run(_ intent: F.Intent, _ context: TurnContext, isJudged: Bool) -> TurnResult {
        var intent = intent
        var start: UInt64?
        var judged: RunTurn?
        if !interceptors.isEmpty, !isJudged {
            let now = monotonicNanoseconds()
            if let refused = intercept(&intent, context) {
                checkDuration(since: now, context)
                return refused
            }
            start = now
            // The interceptors run once per intent, even if it runs several times.
            judged = Self.execute(intent, isJudged: true)
        }
        return run(
            context, stage: .execute, cause: .intent(intent), intent: intent, since: start, judged: judged
        ) {
            try $0.runner.feature.execute(intent, &$0)
        }
    }

    @usableFromInline
    package func bootstrap(_ reason: StartReason, _ context: TurnContext) -> TurnResult {
        run(context, stage: .bootstrap, cause: .started(reason)) { try $0.runner.feature.bootstrap(reason, &$0) }
    }

    @usableFromInline
    package func signedIn(_ principal: Principal, _ context: TurnContext) -> TurnResult {
        run(context, stage: .signIn) { try $0.runner.feature.signedIn(principal, &$0) }
    }

    @usableFromInline
    package func onFailure(_ failure: Failure, of origin: WorkOrigin?, _ context: TurnContext) -> TurnResult {
        let origin = origin ?? WorkOrigin(failure.intentID, failure.intent, context.principal, isCounted: true)
        return run(context, stage: nil, origin: origin) { turn in
            if turn.isRecorded { turn.makeRare().failure = failure.text }
            turn.runner.feature.onFailure(failure, &turn)
        }
    }

    /// Runs a turn, in its own span if tracing is enabled; see `runUntraced`.
    @inlinable
    func run(
        _ context: TurnContext, stage: Failure.Stage?, cause: @autoclosure () -> StoreObservation<F>.Event? = nil,
        intent: F.Intent? = nil, since: UInt64? = nil, judged: RunTurn? = nil, origin: WorkOrigin? = nil,
        _ body: (inout Turn<F>) throws -> Void
    ) -> TurnResult {
        guard let tracer = environment.shared.settings.tracer else {
            return runUntraced(context, stage, cause, intent, since, judged, origin, body)
        }
        return tracer.trace(context, in: environment, stage) { context in
            runUntraced(context, stage, cause, intent, since, judged, origin, body)
        }
    }

    /// Runs a turn. `stage` is the place of a throw; nil if the job's owner determines it. Observers see `cause` first,
    /// even if the turn throws. `intent` is that of the cause; `origin` is that of the launched work that led to the
    /// turn.
    @inlinable
    func runUntraced(
        _ context: TurnContext, _ stage: Failure.Stage?, _ cause: () -> StoreObservation<F>.Event?, _ intent: F.Intent?,
        _ since: UInt64?, _ judged: RunTurn?, _ origin: WorkOrigin?, _ body: (inout Turn<F>) throws -> Void
    ) -> TurnResult {
        let start = since ?? monotonicNanoseconds()
        let (before, hadPartWork) = copies.withLock { ($0.working ?? $0.head, $0.hasPartWork) }
        var turn = Turn(
            runner: self, state: before.state, context: context, cause: intent, origin: origin, hasPartWork: hadPartWork
        )
        if turn.isObserved, let cause = cause() { turn.observations.append(cause) }
        if turn.isRecorded { turn.makeRare().note(start: start, stage, cause(), hasIntent: intent != nil) }
        var after = before
        var hasRun = false
        let result: TurnResult
        do {
            try body(&turn)
            if !turn.actions.isEmpty { try turn.performActions() }
            if turn.hasMessages { try turn.followChanges(since: before.state) }
            if turn.hasPartWork, !hadPartWork { copies.withLock { $0.hasPartWork = true } }
            if turn.hasMessages, turn.hasPartWork { turn.cancelGoneParts() }
            if !turn.effects.isEmpty { try context.host.check(turn.effects, after: context.earlier) }
            if let missing = turn.rare?.missing { throw StoreIsAbsent(instance: missing) }
            hasRun = true
            var isViewChanged = false
            if turn.hasMessages {
                after = (turn.state, feature.view(turn.state))
                // What an audience sees may change with the state.
                isViewChanged = hasAudiences ? after.state != before.state : after.view != before.view
            }
            if observers != nil {
                turn.makeRare().observe = telling(turn.observations, context, turn.rare?.addressees ?? [])
            }
            if let judged { turn.makeRare().judged = judged }
            result = try output(turn, after.view, isViewChanged)
            if let reminders = result.reminders { try context.host.check(reminders) }
        } catch {
            checkDuration(since: start, context)
            return threw(error, context, stage, cause(), turn.rare, judged, hasRun: hasRun)
        }
        checkDuration(since: start, context)
        if turn.rare?.sends.isEmpty == false { beginChain(isFirst: !context.isSent) }
        if turn.hasMessages { setWorking(after) }
        return result
    }

    @inlinable
    func setWorking(_ values: Values) {
        var values: Values? = values
        copies.withLock { swap(&$0.working, &values) }
    }

    /// Makes the batch's working copy the committed state.
    @inlinable
    package func commit() {
        // The old values are freed after the lock is released.
        let (_, hasWaiters) = copies.withLock { copies -> (Values?, Bool) in
            guard var values = copies.working.take() else { return (nil, false) }
            swap(&values, &copies.head)
            return (values, copies.waiters != nil)
        }
        if hasWaiters { offerState() }
    }

    // MARK: Chains

    /// Saves the working copy, unless the running chain has saved it.
    ///
    /// - Parameter isFirst: true for the turn that begins a chain: no other chain may be running.
    @usableFromInline
    package func beginChain(isFirst: Bool = false) {
        copies.withLock { copies in
            assert(!isFirst || copies.beforeChain == nil, "A chain began inside another one.")
            if copies.beforeChain == nil { copies.beforeChain = SavedCopy(copies.working) }
        }
    }

    /// Discards the copy that `beginChain` saved, or restores it.
    @usableFromInline
    package func endChain(isKept: Bool) {
        // The values are freed after the lock is released.
        _ = copies.withLock { copies -> (SavedCopy?, Values?) in
            guard let saved = copies.beforeChain.take() else { return (nil, nil) }
            let working = copies.working
            if !isKept { copies.working = saved.working }
            return (saved, working)
        }
    }

    @usableFromInline
    package func rollBack() { _ = copies.withLock { $0.working.take() } }

    /// Makes another writer's state the committed one.
    @usableFromInline
    package func adopt(_ state: F.State) {
        setWorking((state, feature.view(state)))
        commit()
    }

    @inlinable
    func checkDuration(since start: UInt64, _ context: TurnContext) {
        let duration = monotonicNanoseconds() &- start
        environment.shared.settings.meter?.turnTook(duration)
        if duration > environment.shared.slowTurnNanoseconds { context.host.tookLong(duration, context.intentID) }
    }

    @inlinable
    func telling(
        _ events: [StoreObservation<F>.Event], _ context: TurnContext, _ addressees: [LabelTo<F>] = []
    ) -> (@Sendable () -> Void)? {
        telling(
            events, context.intentID, context.principal, context.trace,
            Witnessed(isSent: context.isSent, sender: context.sender, addressees: addressees))
    }

    @usableFromInline
    func telling(
        _ events: [StoreObservation<F>.Event], _ intentID: IntentID, _ principal: Principal?,
        _ trace: ServiceContext? = nil, _ witnessed: Witnessed<F> = Witnessed()
    ) -> (@Sendable () -> Void)? {
        guard let observers, !events.isEmpty else { return nil }
        return { [environment] in
            observers.append(
                events, intentID, environment.instance, environment.session, principal, trace, witnessed)
        }
    }

    @usableFromInline
    package func observe(failure: Failure) { telling([.failed(failure)], failure.intentID, nil)?() }

    @usableFromInline
    package func observersCaughtUp() async { await observers?.caughtUp() }

    @usableFromInline
    package func observeEnd() {
        telling([.ended], .end, nil)?()
        // Their work has ended, which ends the waits.
        offerState()
    }

    @usableFromInline
    package func addObserverCounts(to diagnostics: inout StoreDiagnostics) {
        guard let counts = observers?.counts else { return }
        diagnostics.missedObservations = counts.missed
        diagnostics.observerFailures = counts.failures
    }
}
