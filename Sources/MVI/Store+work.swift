import Locking

extension Store {
    /// Starts work that the table decided to start.
    @usableFromInline
    func begin(_ start: WorkTable<F>.Start) {
        let work = Work(store: self, token: start.token, intentID: start.intentID)
        let operation = start.operation
        let task = Task(executorPreference: environment.executor) { [self] in
            // Cancelled before it began: it must not begin.
            guard core.withLock({ $0.work.isLive(start.token) }) else { return }
            do {
                try await operation(work)
            } catch is CancellationError {
                // Cancelled, or something that it used was: no error.
            } catch {
                workFailed(start.token, intentID: start.intentID, error: error) { [self] in ended(start.token) }
                return
            }
            ended(start.token)
        }
        // The work may have been cancelled, or have ended, before its task existed.
        let isKept = core.withLock { $0.work.attach(task, to: start.token) }
        if !isKept { task.cancel() }
    }

    /// Reports a throw of launched work and runs `onFailure` in a turn of its own, then `then`: whoever waits for the
    /// intent to settle sees the state that the failure led to. What cancelled work throws is nobody's business.
    func workFailed(
        _ token: WorkToken, intentID: IntentID, error: any Error, then: (@Sendable () -> Void)? = nil
    ) {
        let failure = core.withLock { core -> Failure? in
            guard core.work.isLive(token) else { return nil }
            core.note { $0.failures += 1 }
            return Failure(stage: .work(core.work.id(of: token)), intentID: intentID, error: error)
        }
        guard let failure else {
            then?()
            return
        }
        environment.report(.failure(failure, instance: environment.instance))
        observe(.failed(failure), intentID)
        enqueue(.failure(FailureJob(failure: failure, token: token, then: then)))
    }

    private func ended(_ token: WorkToken) {
        var started: [WorkTable<F>.Start] = []
        var leaving = LeavingWork()
        let settled = core.withLock { $0.work.ended(token, started: &started, leaving: &leaving) }
        // Kept until here, so that nothing of the author's dies under the lock.
        withExtendedLifetime(leaving) {}
        for start in started { begin(start) }
        for action in settled { action() }
    }

    /// Runs a step of launched work in its turn; returns what it threw, nil when it is committed or dropped.
    func step(
        token: WorkToken, intentID: IntentID, body: @escaping @Sendable (inout Turn<F>) throws -> Void
    ) async -> (any Error)? {
        // Cancelled work does not wait for its turn to be told so.
        if core.withLock({ $0.phase == .started && !$0.work.isLive(token) }) { return nil }
        return await withCheckedContinuation { continuation in
            enqueue(
                .step(
                    StepJob(token: token, intentID: intentID, body: body) { continuation.resume(returning: $0) }))
        }
    }

    /// The names of the work that runs, for tests; the intervals of `throttle` are not work of the author's.
    package var workInProgress: [String] { core.withLock { $0.work.inProgress } }

    // MARK: Settling

    /// Calls `action` once when no work that the intent launched is running: false, and no call, if that is so now.
    ///
    /// `id` is the caller's, for `stopWaiting`. The call may come from any thread, never under a lock.
    public func whenSettled(
        _ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void
    ) -> Bool {
        core.withLock { $0.work.wait(for: intentID, id: id, action) }
    }

    /// Takes `whenSettled` back. The call may be under way already.
    public func stopWaiting(for intentID: IntentID, id: UInt64) {
        let actions = core.withLock { $0.work.stopWaiting(for: intentID, id: id) }
        withExtendedLifetime(actions) {}
    }

    // MARK: Watching

    /// Somebody looks at the store now: work that runs `whileWatched` starts with the first. False, and nothing
    /// happens, if the store is disposed of or passive.
    @discardableResult
    public func beginWatching() -> Bool {
        var started: [WorkTable<F>.Start] = []
        var leaving = LeavingWork()
        let isAlive = core.withLock { core in
            guard core.phase != .disposed, core.phase != .passive else { return false }
            core.work.beginWatching(started: &started, leaving: &leaving)
            return true
        }
        for task in leaving.tasks { task.cancel() }
        for start in started { begin(start) }
        return isAlive
    }

    /// Somebody who began to look has left. One call too many does nothing.
    public func endWatching() {
        let (generation, graces) = core.withLock { $0.work.endWatching() }
        for (id, grace) in graces {
            let task = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
                // Called off by a watcher who came back, or by the store's end.
                guard (try? await clock.sleep(for: grace)) != nil else { return }
                self?.graceEnded(id, generation: generation)
            }
            let isKept = core.withLock { $0.work.attachGrace(task, generation: generation) }
            if !isKept { task.cancel() }
        }
    }

    private func graceEnded(_ id: WorkID, generation: UInt64) {
        let (leaving, settled) = core.withLock { core in
            (core.work.graceEnded(id, generation: generation), core.work.takeSettled())
        }
        for task in leaving.tasks { task.cancel() }
        for action in settled { action() }
    }
}
