import Locking
import MVI

/// The outcome of a batch.
enum CommitOutcome: Sendable {
    /// It is committed and applied.
    case committed
    /// Another writer was first. Nothing of the batch is committed, and the session is at the newer head.
    case conflict
    /// Access changed before it was appended: its jobs are judged anew.
    case outdated
    /// It is certainly not committed.
    case failed(StoreError)
    /// The outcome of its commit is unknown and cannot be determined: it must not run again.
    case unknown(StoreError)
}

/// A finished job. A class, since it is passed on several times.
final class JobResult: Sendable {
    let job: any QueueJob
    /// The job's store; nil if it has none in memory.
    let store: SessionStore?
    let intentID: IntentID
    /// The result of the handler; without a handler, only the outcome.
    let turn: TurnResult
    /// True if there is something to commit.
    let isKept: Bool
    /// The store's version and view state after it.
    let state: StateSnapshot
    /// True if other writers know the store: the batch did not create it.
    let isOfKeptStore: Bool
    /// True for the failure turn of the result before it.
    let followsPrevious: Bool
    let isBootstrap: Bool

    init(
        _ job: any QueueJob, on store: SessionStore?, _ intentID: IntentID, _ turn: TurnResult, isKept: Bool,
        state: StateSnapshot, isOfKeptStore: Bool = false, followsPrevious: Bool = false, isBootstrap: Bool = false
    ) {
        (self.job, self.store, self.intentID, self.turn) = (job, store, intentID, turn)
        (self.isKept, self.state, self.isOfKeptStore) = (isKept, state, isOfKeptStore)
        (self.followsPrevious, self.isBootstrap) = (followsPrevious, isBootstrap)
    }

    /// The result of a job for which no handler was run.
    init(_ job: any QueueJob, _ outcome: TurnOutcome, isKept: Bool) {
        (self.job, turn, self.isKept) = (job, TurnResult(outcome), isKept)
        (store, intentID, state) = (nil, .bootstrap, StateSnapshot(version: 0, view: []))
        (isOfKeptStore, followsPrevious, isBootstrap) = (false, false, false)
    }

    var outcome: TurnOutcome { turn.outcome }

    /// The job that runs instead of this one, which was not committed.
    var again: any QueueJob { job.retry(turn.inputs, turn.judged, onKept: isOfKeptStore) }

    /// Counts a committed turn, and tells observers and the log.
    func tell() {
        if isKept, case .ran = outcome, let store {
            store.meter?.turnCommitted(isBootstrap ? .bootstrap : job.kind)
        }
        turn.observe?()
        if let failure = outcome.reported { store?.report(failure) }
    }
}

/// A finished batch, with the results of its jobs in order, and its stores if they live on with their turns' effects.
typealias CommitEnd = (outcome: CommitOutcome, results: ShortList<JobResult>, entries: [SessionBatch.Entry])

/// The processing of a session's queue, by the thread that finds it idle.
extension Session {
    var environment: StoreEnvironment { shared.stores }
    /// True if other processes append to the same log. The batch's results may then be out of date after a failed
    /// commit, and are not sent.
    private var hasOtherWriters: Bool { shared.lease != nil }

    /// Enqueues a job. If the queue is idle, this thread runs it and all that comes meanwhile.
    func enqueue(_ job: any QueueJob) {
        if queue.enterIdle() { return drive(JobBatch(first: job)) }
        let limit = space == nil ? environment.queueLimit : shared.limits.queuedInSpace
        switch queue.enter(job, limit: limit) {
        case .alone: drive(JobBatch(first: job))
        case .queued: break
        case .refused(let error): job.end(error)
        }
    }

    /// True if turns may run here: no other living node owns the session. The journal verifies that with each append.
    var mayRun: Bool {
        guard let lease = shared.lease else { return true }
        let owner = core.withLock { $0.isElsewhere ? $0.ownership.owner : nil }
        guard let owner else { return true }
        guard !lease.isAnother(owner.node) else { return false }
        // Its owner is lost: work that ran there begins anew with the first turn here.
        core.withLock { core in if core.isElsewhere, core.ownership.isUnrestored { core.restoreStores() } }
        return true
    }

    /// The number of jobs after which a thread passes the queue on, since it has a job of its own to do.
    private var jobLimit: Int { 512 }

    /// Runs batches until nothing waits, or until something is in flight whose end continues here. Called only by the
    /// queue's runner.
    func drive(_ first: JobBatch? = nil) {
        var next = first ?? queue.next()
        var count = 0
        var deadline: UInt64?
        while let batch = next.take() {
            // In most cases there is one batch, and no clock is read.
            if count > 0 {
                let now = monotonicNanoseconds()
                let end = deadline ?? now + UInt64(clamping: shared.limits.runnerTime.nanoseconds)
                if count >= jobLimit || now >= end {
                    Task(executorPreference: environment.executor) { [self] in drive(batch) }
                    return
                }
                deadline = end
            }
            guard run(batch) else { return }
            count += 1 + batch.others.count
            next = queue.next()
        }
    }

    /// Runs a batch and commits it. Returns false if something is in flight that continues the queue.
    private func run(_ batch: JobBatch) -> Bool {
        if let waiting = run(batch.first) {
            if putBack(JobBatch(first: waiting.job, others: batch.others)) {
                return !waiting.whenReady { [self] in drive() }
            }
        } else {
            for index in batch.others.indices {
                guard let waiting = run(batch.others[index]) else { continue }
                // Jobs that ran before it are committed first; then nothing of the queue runs until it may.
                _ = putBack(JobBatch(first: waiting.job, others: batch.others[(index + 1)...]))
                break
            }
        }
        return commit().map { finish($0) } ?? false
    }

    /// Runs a job. Returns it if the queue has to wait for it.
    private func run(_ job: any QueueJob) -> WaitingJob? {
        guard let waiting = job.run() else { return nil }
        guard let store = waiting.needs.observed else { return waiting }
        putOff(waiting.job, for: store)
        return nil
    }

    /// Handles the end of a batch that was in flight.
    func ended(_ end: CommitEnd) {
        if finish(end) { drive() }
    }

    /// Puts jobs back to run before all others. Returns false, and ends them, if the queue is closed.
    private func putBack(_ batch: JobBatch) -> Bool {
        guard let error = queue.runAgain(batch) else { return true }
        for job in batch.jobs { job.end(error) }
        return false
    }

    /// Handles a batch's end. Returns false if the queue continues later.
    private func finish(_ end: CommitEnd) -> Bool {
        switch end.outcome {
        case .committed:
            committed(end)
            return true
        case .conflict: return conflicted(end.results)
        case .outdated: _ = runAgain(end.results)
        case .failed(let error): failed(end.results, error, isRetried: true)
        case .unknown(let error): failed(end.results, error, isRetried: false)
        }
        return true
    }

    /// Launches work, tells observers, reports and answers, in that order. Usually it is one result without effects.
    private func committed(_ end: CommitEnd) {
        var launches: [(store: SessionStore, work: [WorkStart], observes: Bool)] = []
        // By index: a loop over the elements would copy each entry.
        for index in end.entries.indices where !end.entries[index].effects.isEmpty && !end.entries[index].isDisposed {
            guard let store = end.entries[index].store else { continue }
            launches.append((store, store.apply(end.entries[index]), end.entries[index].observes))
        }
        for index in end.results.indices { end.results[index].tell() }
        for launch in launches {
            launch.store.begin(launch.work)
            // A stream may hold its state back.
            if launch.observes { release(launch.store) }
        }
        let (isDone, settled) = queue.takeSettled(isKept: end.results.contains(where: \.isKept))
        for index in end.results.indices {
            let result = end.results[index]
            result.job.finished(result, isSettled: isDone || queue.isSettled(result.intentID))
        }
        for action in settled { action() }
    }

    /// The number of conflicts in a row after which a batch is given up.
    private var conflictLimit: Int { 8 }

    /// Handles a conflict: the jobs run again on the newer head, before later jobs.
    private func conflicted(_ results: ShortList<JobResult>) -> Bool {
        let conflicts = queue.noteConflict()
        guard conflicts < conflictLimit else {
            failed(
                results, StoreError(.contended, "Other writers were first \(conflicts) times in a row."),
                isRetried: true)
            return true
        }
        guard runAgain(results), conflicts > 1 else { return true }
        // A random pause, so that two writers do not conflict in step.
        let time = Duration.milliseconds(Int.random(in: 1...(10 << min(conflicts, 3))))
        Task(executorPreference: environment.executor) { [self, clock = environment.clock] in
            // Nothing cancels it.
            try? await clock.sleep(for: time)
            loadNewer { [self] in drive() }
        }
        return false
    }

    /// Puts the jobs of a batch back, to run before later ones. Returns false if none will run.
    private func runAgain(_ results: ShortList<JobResult>) -> Bool {
        // The failed turn runs its failure turn again.
        JobBatch(results.filter { !$0.followsPrevious }.map(\.again)).map(putBack) ?? false
    }

    /// Fails jobs that have a caller; retries the others later.
    ///
    /// Discards results that are based on lost turns: an intent among them is refused, and a step is retried.
    private func failed(_ results: ShortList<JobResult>, _ error: StoreError, isRetried: Bool) {
        var over: [(result: JobResult, isDecided: Bool)] = []
        var parked: [any QueueJob] = []
        var isVoid = hasOtherWriters
        var isDecided = true
        for result in results {
            // A failure turn runs again with its failed turn, or is not needed.
            if result.followsPrevious, !isDecided { continue }
            isDecided = !result.isKept && !isVoid
            isVoid = isVoid || result.isKept
            if !isDecided, isRetried, result.job.lane == .steps {
                parked.append(result.job)
            } else {
                over.append((result, isDecided))
            }
        }
        // Retried jobs were reported at their first failure.
        let isKnown = queue.isFailing && over.allSatisfy { !$0.result.isKept }
        if !isKnown, let first = results.first(where: { $0.isKept }) {
            let place = first.store?.environment.place ?? StorePlace(instance: "")
            environment.report(.commitFailed(error, in: place))
        }
        park(parked)
        for (result, _) in over where !result.isKept { result.tell() }
        for (result, isDecided) in over {
            if isDecided { result.job.finished(result, isSettled: true) } else { result.job.end(error) }
        }
    }

    private func park(_ jobs: [any QueueJob]) {
        guard !jobs.isEmpty else { return }
        let (dropped, error, setsTimer) = queue.park(jobs)
        for job in dropped { job.end(error ?? StoreError(.busy, "Too many failure turns are already waiting.")) }
        guard setsTimer else { return }
        let pause = environment.pause(afterFailures: queue.noteFailure())
        let task = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
            // Canceled by the queue's end.
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            if let self, queue.unpark() { drive() }
        }
        if !queue.attach(task) { task.cancel() }
    }
}

/// A job of a queue.
protocol QueueJob: AnyObject, Sendable {
    var lane: JobLane { get }
    /// True for a call of `onFailure`. The number of those that wait for a retry is limited.
    var isFailureTurn: Bool { get }
    /// The kind of its turn, for metrics.
    var kind: TurnKind { get }
    /// Runs the job as the next one of its session's batch and adds the result to the batch. If the job has to wait
    /// first, adds nothing of its own and returns what to run later instead; otherwise nil. Called by one thread at a
    /// time, under no lock.
    func run() -> WaitingJob?
    /// Called when the job's result is final: its turn, if any, is committed and applied.
    func finished(_ result: JobResult, isSettled: Bool)
    /// Returns the job that runs instead, with data of its last run, which was not committed.
    ///
    /// - Parameters:
    ///   - inputs: the time and random values of the turn; nil if it used none.
    ///   - judged: the intent after interceptors; nil if there are none.
    ///   - onKept: true if it ran on a store that other writers know.
    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob
    /// Called when nothing of the job is committed and it will not run again.
    func end(_ error: StoreError)
    /// Called when the journal does not tell for a while whether the job is committed: a waiting client is answered now.
    func outcomeIsLate(_ error: StoreError)
}

/// The stores that a job needs before it can run.
struct JobNeeds {
    /// Stores to be loaded. The queue waits, too.
    var features: [FeatureID] = []
    /// A store whose observations have no result yet. The job leaves the queue meanwhile.
    var observed: SessionStore?

    /// The needs of a job that has to have these stores in memory, too.
    func adding(_ others: [FeatureID]) -> JobNeeds { JobNeeds(features: others + features, observed: observed) }
}

/// A job that cannot run yet.
struct WaitingJob {
    let job: any QueueJob
    var needs = JobNeeds()
    /// Calls `resume` once, later, when the job may run. Returns false, and does not call, if it may now.
    let whenReady: (_ resume: @escaping @Sendable () -> Void) -> Bool

    /// A job that waits for loads of stores.
    init(_ job: any QueueJob, in session: Session, for features: [FeatureID]) {
        self.init(job, in: session, for: JobNeeds(features: features))
    }

    init(_ job: any QueueJob, in session: Session, for needs: JobNeeds) {
        self.init(job) { session.awaitLoads(needs.features, $0) }
        self.needs = needs
    }

    /// A job that waits for the observations of a store.
    init(_ job: any QueueJob, observing store: SessionStore) {
        self.init(job) { _ in false }
        needs.observed = store
    }

    init(_ job: any QueueJob, whenReady: @escaping (_ resume: @escaping @Sendable () -> Void) -> Bool) {
        (self.job, self.whenReady) = (job, whenReady)
    }
}

/// The defaults of most jobs.
extension QueueJob {
    var lane: JobLane { .intents }
    var isFailureTurn: Bool { false }
    var kind: TurnKind { .other }
    func finished(_ result: JobResult, isSettled: Bool) {}
    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob { self }
    func end(_ error: StoreError) {}
    func outcomeIsLate(_ error: StoreError) {}
}
