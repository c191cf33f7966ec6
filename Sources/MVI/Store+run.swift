import Locking

extension Store {
    @inlinable
    func enqueue(_ job: Job<F>) {
        switch core.withLock({ $0.enter(job, limit: environment.queueLimit) }) {
        case .alone(let head): runAlone(job, on: head)
        case .run: run()
        case .queued: break
        case .refused(let rejection): job.refuse(rejection)
        }
    }

    /// Runs the one job of an idle store, without the arrays of a batch, then what came meanwhile.
    @inlinable
    func runAlone(_ job: Job<F>, on head: WorkingHead<F>) {
        var head = head
        let ran = execute(job, on: &head)
        if ran.trouble != nil {
            var batch = [ran]
            handToFeature(on: &head, &batch)
            guard commit(batch, conflicts: 0) else { return }
        } else if let log, let record = ran.record {
            let result = log([record]) { [self] result in
                finish([ran], result, conflicts: 0)
                run()
            }
            switch result {
            case nil: return
            case .committed(let version): committed(ran, version)
            case .some(let other): finish([ran], other, conflicts: 0)
            }
        } else {
            committed(ran, 0)
        }
        run()
    }

    /// Runs batch after batch until the queue is empty, or until a commit is in flight, whose end goes on here.
    /// Only the thread that set `isRunning` is here.
    @inlinable
    func run() {
        var count = 0
        while true {
            switch core.withLock({ $0.takeBatch() }) {
            case .idle(let announcesEnd):
                if announcesEnd { observe(.ended, .end) }
                return
            case .batch(let jobs, var head, let conflicts):
                var batch: [Ran<F>] = []
                batch.reserveCapacity(jobs.count)
                for job in jobs {
                    batch.append(execute(job, on: &head))
                    handToFeature(on: &head, &batch)
                }
                guard commit(batch, conflicts: conflicts) else { return }
                count += jobs.count
            }
            if count >= runLimit {
                handOver()
                return
            }
        }
    }

    /// How many jobs of others a thread runs before a task goes on: whoever accepted an intent has its own to do.
    @inlinable var runLimit: Int { 512 }

    @usableFromInline
    func handOver() {
        Task(executorPreference: environment.executor) { [self] in run() }
    }

    /// Commits a batch that was refused for that many conflicts in a row; false if the log will go on with the queue
    /// later.
    @inlinable
    func commit(_ batch: [Ran<F>], conflicts: Int) -> Bool {
        let records = batch.compactMap { $0.record }
        guard !records.isEmpty, let log else {
            committed(batch, 0)
            return true
        }
        let result = log(records) { [self] result in
            finish(batch, result, conflicts: conflicts)
            run()
        }
        guard let result else { return false }
        finish(batch, result, conflicts: conflicts)
        return true
    }

    @inlinable
    func finish(_ batch: [Ran<F>], _ result: CommitResult<F>, conflicts: Int) {
        switch result {
        case .committed(let version): committed(batch, version)
        case .conflict(let newer): conflicted(batch, newer, conflicts: conflicts + 1)
        case .failed(let failure): notCommitted(batch, failure)
        }
    }

    /// Runs `onFailure` if the last job of the batch threw.
    @inlinable
    func handToFeature(on head: inout WorkingHead<F>, _ batch: inout [Ran<F>]) {
        guard let trouble = batch.last?.trouble, trouble.isHandedToFeature, let failure = trouble.failure else {
            return
        }
        batch.append(execute(.failure(FailureJob(failure: failure)), on: &head))
    }

    // MARK: One job

    @inlinable
    func execute(_ job: Job<F>, on head: inout WorkingHead<F>) -> Ran<F> {
        switch job {
        case .bootstrap(let life):
            return execute(job, .bootstrap, on: &head, stage: .bootstrap) { feature, turn in
                try feature.bootstrap(life, &turn)
            }
        case .intent(let accepted):
            if let rejection = accepted.precondition?(head.changes) {
                return Ran(job, accepted.id, Trouble(rejection: rejection))
            }
            var intent = accepted.intent
            if !middleware.interceptors.isEmpty, let refused = intercept(&intent, accepted.id, job, on: head.state) {
                return refused
            }
            return execute(job, accepted.id, on: &head, stage: .execute, attachment: accepted.attachment) {
                feature, turn in
                turn.observe(.intent(intent))
                try feature.execute(intent, &turn)
            }
        case .step(let step):
            guard core.withLock({ $0.work.isLive(step.token, unless: head.cancelled) }) else {
                return Ran(job, step.intentID)
            }
            return execute(job, step.intentID, on: &head, stage: nil) { _, turn in try step.body(&turn) }
        case .failure(let thrown):
            if let token = thrown.token, !core.withLock({ $0.work.isLive(token, unless: head.cancelled) }) {
                return Ran(job, thrown.failure.intentID)
            }
            return execute(job, thrown.failure.intentID, on: &head, stage: nil) { feature, turn in
                feature.onFailure(thrown.failure, &turn)
            }
        }
    }

    /// One turn. `stage` says where a throw came from; nil if that is for the job's owner to say.
    @inlinable
    func execute(
        _ job: Job<F>, _ intentID: IntentID, on head: inout WorkingHead<F>, stage: Failure.Stage?,
        attachment: (any AnyObject & Sendable)? = nil, _ body: (F, inout Turn<F>) throws -> Void
    ) -> Ran<F> {
        let start = ContinuousClock.now
        var turn = Turn(
            feature: feature, state: head.state, intentID: intentID,
            isObserved: observers != nil || environment.isRecording)
        do {
            try body(feature, &turn)
            if turn.hasActions { try turn.performActions() }
            if !turn.effects.isEmpty { try checkWork(turn.effects, after: head.earlier) }
        } catch {
            checkDuration(since: start, intentID)
            return Ran(job, intentID, trouble(of: job, intentID, error, stage: stage))
        }
        checkDuration(since: start, intentID)

        var changed = false
        if turn.hasMessages {
            let view = feature.view(turn.state)
            changed = view != head.view
            if changed {
                head.view = view
                head.changes += 1
            }
            head.state = turn.state
        }
        if !turn.effects.isEmpty { head.note(turn.effects) }
        let record = TurnRecord<F>(
            intentID: intentID, state: turn.state, view: head.view, stateChanged: turn.hasMessages,
            viewChanged: changed, labels: turn.labels, events: turn.observations, attachment: attachment)
        return Ran(job, record, turn.effects)
    }

    /// What is to be told of a turn that threw; nothing else of it is left.
    @usableFromInline
    func trouble(of job: Job<F>, _ intentID: IntentID, _ error: any Error, stage: Failure.Stage?) -> Trouble<F> {
        if case .failure(let thrown) = job {
            // An action that `onFailure` sent threw; there is nobody left to hand it to.
            let failure = Failure(stage: thrown.failure.stage, intentID: intentID, error: error)
            return Trouble(failure: failure, events: [.failed(failure)])
        }
        guard let stage else { return Trouble(stepError: error) }
        let failure = Failure(stage: stage, intentID: intentID, error: error)
        var events = [Observation<F>.Event.failed(failure)]
        if case .intent(let accepted) = job { events.insert(.intent(accepted.intent), at: 0) }
        return Trouble(rejection: .failed(failure), failure: failure, isHandedToFeature: true, events: events)
    }

    /// Lets the interceptors rewrite the intent; returns what to tell if one refuses it.
    @usableFromInline
    func intercept(_ intent: inout F.Intent, _ id: IntentID, _ job: Job<F>, on state: F.State) -> Ran<F>? {
        let interception = Interception<F>(
            state: state, intentID: id, instance: environment.instance, session: environment.session)
        for interceptor in middleware.interceptors {
            do {
                intent = try interceptor(intent, interception)
            } catch let refusal as Refusal {
                return Ran(
                    job, id, Trouble(rejection: .refused(refusal), events: [.refused(intent, refusal)]))
            } catch {
                // Not a decision but a fault of the guard: what it should have judged must not pass.
                let refusal = Refusal(.forbidden, "The intent could not be checked, so it was not run.")
                let failure = Failure(stage: .execute, intentID: id, error: error)
                return Ran(
                    job, id,
                    Trouble(rejection: .refused(refusal), failure: failure, events: [.refused(intent, refusal)]))
            }
        }
        return nil
    }

    @inlinable
    func checkDuration(since start: ContinuousClock.Instant, _ intentID: IntentID) {
        let duration = ContinuousClock.now - start
        if duration > environment.slowTurn { tookLong(duration, intentID) }
    }

    @usableFromInline
    func tookLong(_ duration: Duration, _ intentID: IntentID) {
        core.withLock { $0.note { $0.slowTurns += 1 } }
        environment.report(.slowTurn(duration, intentID, instance: environment.instance))
    }
}
