import Locking

extension Store {
    /// Starts work that the table decided to start.
    func begin(_ start: WorkTable<F>.Start) {
        let work = Work(store: self, token: start.token, intentID: start.intentID)
        let operation = start.operation
        let task = Task(executorPreference: environment.executor) { [self] in
            do {
                try await operation(work)
                ended(start.token)
            } catch is CancellationError {
                ended(start.token)
            } catch {
                if core.withLock({ $0.work.isLive(start.token) }) {
                    workFailed(start.token, intentID: start.intentID, error: error) { [self] in ended(start.token) }
                } else {
                    ended(start.token)
                }
            }
        }
        // The work may have been cancelled, or have ended, before its task existed.
        let isKept = core.withLock { $0.work.attach(task, to: start.token) }
        if !isKept { task.cancel() }
    }

    /// Reports a throw of launched work and runs `onFailure` in a turn of its own, then `then`: whoever waits for the
    /// intent to settle sees the state that the failure led to.
    func workFailed(
        _ token: WorkToken, intentID: IntentID, error: any Error, then: (@Sendable () -> Void)? = nil
    ) {
        let id = core.withLock { core in
            core.diagnostics.failures += 1
            return core.work.id(of: token)
        }
        let failure = Failure(stage: .work(id), intentID: intentID, error: error)
        environment.report(.failure(failure, instance: environment.instance))
        observe(.failed(failure), intentID)
        enqueue(.failure(failure, then: then))
    }

    private func ended(_ token: WorkToken) {
        var started: [WorkTable<F>.Start] = []
        let settled = core.withLock { core -> [@Sendable () -> Void] in
            guard core.phase != .disposed else { return [] }
            return core.work.ended(token, started: &started)
        }
        for start in started { begin(start) }
        for action in settled { action() }
    }

    /// Runs a step of launched work in its turn; returns what it threw, nil when it is committed or dropped.
    func step(
        token: WorkToken, intentID: IntentID, body: @escaping @Sendable (inout Turn<F>) throws -> Void
    ) async -> (any Error)? {
        await withCheckedContinuation { continuation in
            enqueue(
                .step(
                    StepJob(token: token, intentID: intentID, body: body) { continuation.resume(returning: $0) }))
        }
    }

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
        core.withLock { $0.work.stopWaiting(for: intentID, id: id) }
    }

    /// The names of the work that runs, for tests; the windows of `throttle` are not work of the author's.
    package var workInProgress: [String] { core.withLock { $0.work.inProgress } }

    // MARK: Watching

    /// Somebody looks at the store now: work that runs `whileWatched` starts with the first.
    public func beginWatching() {
        var started: [WorkTable<F>.Start] = []
        core.withLock { core in
            guard core.phase != .disposed else { return }
            core.work.beginWatching(started: &started)
        }
        for start in started { begin(start) }
    }

    /// Somebody who began to look has left.
    public func endWatching() {
        let (generation, graces) = core.withLock { core in
            core.phase == .disposed ? (0, [:]) : core.work.endWatching()
        }
        let clock = environment.clock
        for (id, grace) in graces {
            Task(executorPreference: environment.executor) { [weak self] in
                try? await clock.sleep(for: grace)
                guard let self else { return }
                var settled: [@Sendable () -> Void] = []
                let cancelled = core.withLock { core -> [Task<Void, Never>] in
                    let tasks = core.work.graceEnded(id, generation: generation)
                    settled = core.work.takeSettled()
                    return tasks
                }
                for task in cancelled { task.cancel() }
                for action in settled { action() }
            }
        }
    }
}
