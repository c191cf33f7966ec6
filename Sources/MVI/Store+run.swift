import Locking

/// A job after it ran: what to commit, and whom to tell.
private struct Ran<F: Feature> {
    var record: TurnRecord<F>?
    var effects: [Effect<F>] = []
    var job: Job<F>?
    var rejection: IntentRejection?
    var stepError: (any Error)?
    var failure: Failure?
    var events: [Observation<F>.Event] = []
    var intentID: IntentID
}

/// The batch's own head, which nobody outside sees before the commit.
private struct WorkingHead<F: Feature> {
    var state: F.State
    var view: F.ViewState
    var changes = 0
}

extension Store {
    func enqueue(_ job: Job<F>) {
        switch core.withLock({ $0.enqueue(job, limit: environment.queueLimit) }) {
        case .run: run()
        case .queued: break
        case .refused(let rejection):
            if case .intent(let intent) = job {
                intent.completion(.failure(rejection))
            } else {
                job.drop()
            }
        }
    }

    /// Runs batch after batch until the queue is empty, or until a commit is in flight, whose end goes on here.
    /// Only the thread that set `isRunning` is here.
    func run() {
        while true {
            let taken = core.withLock { core in
                core.takeBatch().map { ($0, WorkingHead<F>(state: core.state, view: core.view)) }
            }
            guard let (jobs, head) = taken else { return }
            var working = head
            var ran: [Ran<F>] = []
            ran.reserveCapacity(jobs.count)
            for job in jobs { execute(job, on: &working, into: &ran) }

            let records = ran.compactMap { $0.record }
            guard !records.isEmpty, let log else {
                finish(ran, .committed)
                continue
            }
            let batch = ran
            let result = log.commit(records) { [self] result in
                finish(batch, result)
                run()
            }
            guard let result else { return }
            finish(ran, result)
        }
    }

    private func execute(_ job: Job<F>, on head: inout WorkingHead<F>, into ran: inout [Ran<F>]) {
        switch job {
        case .bootstrap(let life):
            execute(job, .bootstrap, on: &head, into: &ran, stage: .bootstrap) { feature, turn in
                try feature.bootstrap(life, &turn)
            }
        case .intent(let accepted):
            if let rejection = accepted.precondition?(head.changes) {
                ran.append(Ran(job: job, rejection: rejection, intentID: accepted.id))
                return
            }
            let intent: F.Intent
            do {
                intent = try intercept(accepted, on: head.state)
            } catch {
                let event = Observation<F>.Event.refused(accepted.intent, error)
                ran.append(
                    Ran(job: job, rejection: .refused(error), events: [event], intentID: accepted.id))
                return
            }
            execute(
                job, accepted.id, on: &head, into: &ran, stage: .execute, attachment: accepted.attachment
            ) { feature, turn in
                turn.observe(.intent(intent))
                try feature.execute(intent, &turn)
            }
        case .step(let step):
            guard core.withLock({ $0.work.isLive(step.token) }) else {
                ran.append(Ran(job: job, intentID: step.intentID))
                return
            }
            execute(job, step.intentID, on: &head, into: &ran, stage: nil) { _, turn in try step.body(&turn) }
        case .failure(let failure, _):
            execute(job, failure.intentID, on: &head, into: &ran, stage: nil) { feature, turn in
                feature.onFailure(failure, &turn)
            }
        }
    }

    private func execute(
        _ job: Job<F>, _ intentID: IntentID, on head: inout WorkingHead<F>, into ran: inout [Ran<F>],
        stage: Failure.Stage?, attachment: (any Sendable)? = nil,
        _ body: (F, inout Turn<F>) throws -> Void
    ) {
        let isObserved = observers != nil || environment.isRecording
        let start = ContinuousClock.now
        var turn = Turn(feature: feature, state: head.state, intentID: intentID, isObserved: isObserved)
        var thrown: (any Error)?
        do {
            try body(feature, &turn)
            try turn.performActions()
        } catch {
            thrown = error
        }
        checkDuration(since: start, intentID)

        if let thrown {
            var failed = Ran<F>(job: job, intentID: intentID)
            failed.stepError = thrown
            if let stage {
                let failure = Failure(stage: stage, intentID: intentID, error: thrown)
                failed.failure = failure
                failed.rejection = .failed(failure)
                if isObserved {
                    if case .intent(let accepted) = job { failed.events.append(.intent(accepted.intent)) }
                    failed.events.append(.failed(failure))
                }
                ran.append(failed)
                execute(.failure(failure, then: nil), on: &head, into: &ran)
            } else {
                if case .failure(let failure, _) = job {
                    // An action that `onFailure` sent threw; there is nobody left to hand it to.
                    failed.failure = Failure(stage: failure.stage, intentID: intentID, error: thrown)
                }
                ran.append(failed)
            }
            return
        }
        let view = turn.hasMessages ? feature.view(turn.state) : head.view
        let changed = turn.hasMessages && view != head.view
        let record = TurnRecord<F>(
            intentID: intentID, state: turn.state, view: changed ? view : head.view, viewChanged: changed,
            labels: turn.labels, events: turn.observations, attachment: attachment)
        ran.append(
            Ran(
                record: record, effects: turn.effects, job: job, events: turn.observations, intentID: intentID))
        head.state = turn.state
        if changed {
            head.view = view
            head.changes += 1
        }
    }

    private func intercept(_ job: IntentJob<F>, on state: F.State) throws(Refusal) -> F.Intent {
        guard !middleware.interceptors.isEmpty else { return job.intent }
        let interception = Interception<F>(
            state: state, intentID: job.id, instance: environment.instance, session: environment.session)
        var intent = job.intent
        for interceptor in middleware.interceptors {
            do {
                intent = try interceptor(intent, interception)
            } catch let refusal as Refusal {
                throw refusal
            } catch {
                // Not a decision but a fault of the guard: what it should have judged must not pass.
                environment.report(
                    .failure(
                        Failure(stage: .execute, intentID: job.id, error: error), instance: environment.instance))
                throw Refusal(.forbidden, "The intent could not be checked, so it was not run.")
            }
        }
        return intent
    }

    private func checkDuration(since start: ContinuousClock.Instant, _ intentID: IntentID) {
        let duration = ContinuousClock.now - start
        guard duration > environment.slowTurn else { return }
        core.withLock { $0.diagnostics.slowTurns += 1 }
        environment.report(.slowTurn(duration, intentID, instance: environment.instance))
    }

    /// Shows, answers, launches: what follows a commit, in that order.
    private func finish(_ ran: [Ran<F>], _ result: CommitResult) {
        switch result {
        case .committed: committed(ran)
        case .failed(let failure): notCommitted(ran, failure)
        }
    }

    private func committed(_ ran: [Ran<F>]) {
        var started: [WorkTable<F>.Start] = []
        var cancelled: [Task<Void, Never>] = []
        var settled: [Bool] = []
        var lost = 0
        let mailboxes: [Mailbox<F>]? = core.withLock { core in
            guard core.phase != .disposed else { return nil }
            for item in ran {
                if let failure = item.failure {
                    core.diagnostics.failures += 1
                    if failure.stage == .bootstrap { core.diagnostics.bootstrapFailure = failure }
                }
                if let record = item.record {
                    core.show(record, labelLimit: environment.labelLimit, undelivered: &lost)
                    core.work.apply(item.effects, intentID: item.intentID, started: &started, cancelled: &cancelled)
                }
                settled.append(core.work.isSettled(item.intentID))
            }
            return Array(core.subscribers.values)
        }
        guard let mailboxes else {
            for item in ran { item.job?.drop() }
            return
        }
        for task in cancelled { task.cancel() }
        for mailbox in mailboxes { mailbox.drain() }
        if let observers { observe(ran, observers) }
        for item in ran {
            if let failure = item.failure {
                environment.report(.failure(failure, instance: environment.instance))
            }
        }
        if lost > 0 { environment.report(.undelivered(count: lost, instance: environment.instance)) }
        for start in started { begin(start) }
        for (index, item) in ran.enumerated() {
            switch item.job {
            case .intent(let job):
                if let rejection = item.rejection {
                    job.completion(.failure(rejection))
                } else {
                    job.completion(.success(IntentOutcome(id: job.id, isSettled: settled[index])))
                }
            case .step(let job): job.completion(item.stepError)
            case .failure(_, let then): then?()
            case .bootstrap, nil: break
            }
        }
    }

    private func notCommitted(_ ran: [Ran<F>], _ failure: CommitFailure) {
        environment.report(.commitFailed(failure, instance: environment.instance))
        for item in ran {
            switch item.job {
            case .intent(let job): job.completion(.failure(item.rejection ?? .notCommitted(failure)))
            case .step(let job):
                if item.record == nil {
                    job.completion(item.stepError)
                } else {
                    retry(job)
                }
            case .failure(_, let then): then?()
            case .bootstrap, nil: break
            }
        }
    }

    /// A step of launched work has nobody to be refused to: it is tried again until it is committed or its work is
    /// cancelled.
    private func retry(_ job: StepJob<F>) {
        let clock = environment.clock
        Task(executorPreference: environment.executor) { [self] in
            try? await clock.sleep(for: .milliseconds(250))
            enqueue(.step(job))
        }
    }

    private func observe(_ ran: [Ran<F>], _ observers: ObserverQueue<F>) {
        var observations: [Observation<F>] = []
        for item in ran {
            for event in item.events {
                observations.append(
                    Observation(event: event, intentID: item.intentID, instance: environment.instance))
            }
        }
        observers.append(observations)
    }
}
