import Locking

extension Store {
    /// Shows, launches, answers: what follows a commit, in that order.
    ///
    /// A turn that was under way when the store ended is finished all the same: it is permanent, so `state` takes it
    /// and its caller must not be told otherwise; but nobody is shown it and it launches nothing.
    ///
    /// - Parameter version: what the log numbered the last of the batch's view states.
    @inlinable
    func committed(_ batch: [Ran<F>], _ version: UInt64) {
        var shown = Shown<F>()
        core.withLock { core in
            for index in batch.indices {
                core.commit(batch[index], at: index, labelLimit: environment.labelLimit, shown: &shown)
            }
            core.gather(into: &shown)
        }
        follow(shown)
        if let observers { observe(batch, observers) }
        if shown.hasTrouble { report(batch) }
        for start in shown.started { begin(start) }
        var turnVersion = version
        for item in batch where item.record?.viewChanged == true { turnVersion &-= 1 }
        for index in batch.indices {
            if batch[index].record?.viewChanged == true { turnVersion &+= 1 }
            answer(
                batch[index], isSettled: shown.unsettled.isEmpty || !shown.unsettled.contains(index), turnVersion)
        }
        for action in shown.settled { action() }
    }

    /// The same for one turn that went well, as most do: without the arrays.
    @inlinable
    func committed(_ item: Ran<F>, _ version: UInt64) {
        var shown = Shown<F>()
        core.withLock { core in
            core.commit(item, at: 0, labelLimit: environment.labelLimit, shown: &shown)
            core.gather(into: &shown)
        }
        follow(shown)
        if let observers { observe([item], observers) }
        for start in shown.started { begin(start) }
        answer(item, isSettled: shown.unsettled.isEmpty, version)
        for action in shown.settled { action() }
    }

    @inlinable
    func follow(_ shown: Shown<F>) {
        for task in shown.leaving.tasks { task.cancel() }
        for mailbox in shown.mailboxes { mailbox.drain() }
        if shown.lost > 0 { reportUndelivered(shown.lost) }
    }

    @inlinable
    func answer(_ item: Ran<F>, isSettled: Bool, _ version: UInt64) {
        switch item.job {
        case .intent(let job):
            if let rejection = item.trouble?.rejection {
                job.completion(.failure(rejection))
            } else {
                job.completion(.success(IntentOutcome(id: item.intentID, isSettled: isSettled, version: version)))
            }
        case .step(let job): job.completion(item.trouble?.stepError)
        case .failure(let job): job.then?()
        case .bootstrap: break
        }
    }

    /// Refuses what has somebody to be refused to, keeps the rest to be tried again.
    ///
    /// What was decided on the state of turns that are lost now is void: such an intent is refused with them, whatever
    /// was thought of it, and such a step is tried again.
    @usableFromInline
    func notCommitted(_ batch: [Ran<F>], _ commitFailure: CommitFailure) {
        let isAlone = batch.count { $0.record != nil } == 1
        if commitFailure.code.isOfTurn, !isAlone { return runApart(batch) }
        let culprit = commitFailure.code.isOfTurn
        var decided: [(item: Ran<F>, rejection: IntentRejection?, stepError: (any Error)?)] = []
        var retried: [Job<F>] = []
        var bootstrap: Life?
        var failures: [Failure] = []
        var isVoid = false
        for (index, item) in batch.enumerated() {
            if let failure = item.trouble?.failure { failures.append(failure) }
            switch item.job {
            case .intent:
                decided.append((item, isVoid ? nil : item.trouble?.rejection, nil))
            case .step where item.record == nil && !isVoid:
                decided.append((item, nil, item.trouble?.stepError))
            case .step where culprit && item.record != nil:
                // It would be refused again and again.
                decided.append((item, nil, commitFailure))
            case .failure where item.record == nil && !isVoid, .failure where culprit && item.record != nil:
                decided.append((item, nil, nil))
            case .failure
            where index > 0 && batch[index - 1].trouble?.isHandedToFeature == true && wasVoid(batch, index - 1):
                // Its intent is refused and as good as never sent.
                break
            case .step, .failure:
                retried.append(item.job)
            case .bootstrap(let life):
                if culprit, item.record != nil {
                    failures.append(Failure(stage: .bootstrap, intentID: .bootstrap, error: commitFailure))
                } else if item.record != nil {
                    bootstrap = life
                }
            }
            if item.record != nil { isVoid = true }
        }
        keepForLater(retried, bootstrap, failures)
        environment.report(.commitFailed(commitFailure, instance: environment.instance))
        if let observers { observe(batch.filter { $0.record == nil }, observers) }
        for failure in failures { report(failure) }
        for (item, rejection, stepError) in decided {
            switch item.job {
            case .intent(let job): job.completion(.failure(rejection ?? .notCommitted(commitFailure)))
            case .step(let job): job.completion(stepError)
            case .failure(let job): job.then?()
            case .bootstrap: break
            }
        }
    }

    /// One turn of the batch can never be committed. Nothing of any was shown or launched, so all run again, each alone:
    /// the one at fault is refused then, and only that one.
    private func runApart(_ batch: [Ran<F>]) {
        let jobs = jobsToRunAgain(of: batch)
        let isDisposed = core.withLock { core in
            if core.phase != .disposed { core.retrying().runAlone(jobs) }
            return core.phase == .disposed
        }
        if isDisposed {
            for job in jobs { job.refuse(.disposed) }
        }
    }

    /// The jobs of a batch of which nothing is kept.
    func jobsToRunAgain(of batch: [Ran<F>]) -> [Job<F>] {
        var jobs: [Job<F>] = []
        for (index, item) in batch.enumerated() {
            // The job that threw will hand itself to the feature anew.
            if case .failure = item.job, index > 0, batch[index - 1].trouble?.isHandedToFeature == true { continue }
            jobs.append(item.job)
        }
        return jobs
    }

    private func wasVoid(_ batch: [Ran<F>], _ index: Int) -> Bool { batch[..<index].contains { $0.record != nil } }

    private func keepForLater(_ jobs: [Job<F>], _ bootstrap: Life?, _ failures: [Failure]) {
        var dropped: [FailureJob] = []
        let (isDisposed, setsTimer) = core.withLock { core in
            for failure in failures { core.note(failure) }
            guard core.phase != .disposed else { return (true, false) }
            let setsTimer = core.retrying().park(jobs, bootstrap: bootstrap, dropped: &dropped)
            core.note { $0.droppedFailures += dropped.count }
            return (false, setsTimer)
        }
        for failure in dropped { failure.then?() }
        if isDisposed {
            for job in jobs { job.refuse(.disposed) }
        }
        if setsTimer { setRetryTimer() }
    }

    private func setRetryTimer() {
        let task = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
            // Called off by the store's end.
            guard (try? await clock.sleep(for: .milliseconds(250))) != nil else { return }
            self?.retry()
        }
        let isKept = core.withLock { $0.retry?.attach(task) ?? false }
        if !isKept { task.cancel() }
    }

    private func retry() {
        let isRunner = core.withLock { core in
            guard core.phase == .started else { return false }
            core.retry?.wake()
            if core.isRunning { return false }
            core.isRunning = true
            return true
        }
        if isRunner { run() }
    }

    // MARK: Telling

    @usableFromInline
    func report(_ batch: [Ran<F>]) {
        for item in batch {
            if let failure = item.trouble?.failure { report(failure) }
        }
    }

    private func report(_ failure: Failure) {
        environment.report(.failure(failure, instance: environment.instance))
    }

    @usableFromInline
    func reportUndelivered(_ count: Int) {
        if count > 0 { environment.report(.undelivered(count: count, instance: environment.instance)) }
    }

    @usableFromInline
    func observe(_ batch: [Ran<F>], _ observers: ObserverQueue<F>) {
        var observations: [Observation<F>] = []
        for item in batch {
            for event in item.record?.events ?? item.trouble?.events ?? [] {
                observations.append(
                    Observation(event: event, intentID: item.intentID, instance: environment.instance))
            }
        }
        observers.append(observations)
    }
}
