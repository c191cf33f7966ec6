import Locking
import MVI

/// How a batch ended.
enum CommitOutcome: Sendable {
    /// It is permanent, and applied.
    case committed
    /// Another writer was first. Nothing of the batch is kept, and the owner is at the newer head.
    case conflict
    /// Certainly nothing of it is kept.
    case failed(StoreError)
    /// It may be kept or not, and that cannot be found out: nothing of it may run again.
    case unknown(StoreError)
}

/// A finished job. A class, since it is handed on several times.
final class JobResult: Sendable {
    let job: any QueueJob
    /// The store that it was about; nil if it was about none that is in memory.
    let store: SessionStore?
    let intentID: IntentID
    /// What running a handler led to; of a job for which none was run only the outcome.
    let turn: TurnResult
    /// Whether there is something to commit.
    let isKept: Bool
    /// The store's version and view state after it.
    let state: StateSnapshot
    /// Whether other writers know the store: it was not made by the batch.
    let isOfKeptStore: Bool
    /// Whether it is the turn of a failure of the result before it.
    let followsPrevious: Bool
    let isBootstrap: Bool

    /// The result of a turn.
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

    /// The job that runs in the place of this one, of which nothing is kept.
    var again: any QueueJob { job.again(turn.inputs, turn.judged, onKept: isOfKeptStore) }

    /// Counts a permanent turn; tells observers and the log.
    func tell() {
        if isKept, case .ran = outcome, let store {
            store.environment.meter?.turnCommitted(isBootstrap ? .bootstrap : job.kind)
        }
        turn.observe?()
        if let failure = outcome.reported { store?.report(failure) }
    }
}

/// A batch that is over, with the results of its jobs in order; and its stores, if they live on with what its turns ask for.
typealias CommitEnd = (outcome: CommitOutcome, results: ShortList<JobResult>, entries: [SessionBatch.Entry])

/// How a session's queue is run: by the thread that finds it idle.
extension Session {
    var environment: StoreEnvironment { shared.stores }
    /// Whether other processes append to the same log. What the batch decided may then be out of date when its commit fails,
    /// and is not answered.
    private var hasOtherWriters: Bool { shared.lease != nil }

    /// Takes a job. If the queue is idle this thread runs it, and what comes meanwhile.
    func enqueue(_ job: any QueueJob) {
        if queue.enterIdle() { return drive(JobBatch(first: job)) }
        switch queue.enter(job, limit: environment.queueLimit) {
        case .alone: drive(JobBatch(first: job))
        case .queued: break
        case .refused(let error): job.end(error)
        }
    }

    /// Whether turns may run here: no other node that lives owns the session. Whether that is so the journal judges with each
    /// append.
    var mayRun: Bool {
        guard let lease = shared.lease else { return true }
        let owner = core.withLock { $0.isElsewhere ? $0.ownership.owner : nil }
        guard let owner else { return true }
        guard !lease.isAnother(owner.node) else { return false }
        // Its owner is gone: what ran there begins anew with the first turn here.
        core.withLock { core in if core.isElsewhere, core.ownership.isUnrestored { core.restoreStores() } }
        return true
    }

    /// After how many jobs a thread hands the queue on: it has a job of its own to do.
    private var jobLimit: Int { 512 }

    /// Runs batch after batch until nothing waits, or until something is in flight whose end goes on here. Only the
    /// queue's runner is here.
    func drive(_ first: JobBatch? = nil) {
        var next = first ?? queue.next()
        var count = 0
        var deadline: UInt64?
        while let batch = next {
            // Mostly there is one batch, and no clock is read.
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

    /// Runs a batch and commits it; false if something is in flight that goes on with the queue.
    private func run(_ batch: JobBatch) -> Bool {
        if let waiting = batch.first.run() {
            if putBack(JobBatch(first: waiting, others: batch.others)) {
                return !waiting.whenReady { [self] in drive() }
            }
        } else {
            for index in batch.others.indices {
                guard let waiting = batch.others[index].run() else { continue }
                // What ran before it is committed first; then nothing of the queue runs until it may.
                _ = putBack(JobBatch(first: waiting, others: batch.others[(index + 1)...]))
                break
            }
        }
        return commit().map { finish($0) } ?? false
    }

    /// The end of a batch that was in flight.
    func ended(_ end: CommitEnd) {
        if finish(end) { drive() }
    }

    /// Jobs that are to run before all else; false, and they are ended, if the queue is closed.
    private func putBack(_ batch: JobBatch) -> Bool {
        guard let error = queue.runAgain(batch) else { return true }
        for job in batch.jobs { job.end(error) }
        return false
    }

    /// Does what follows from a batch's end; false if the queue goes on later.
    private func finish(_ end: CommitEnd) -> Bool {
        switch end.outcome {
        case .committed:
            committed(end)
            return true
        case .conflict: return conflicted(end.results)
        case .failed(let error): failed(end.results, error, isRetried: true)
        case .unknown(let error): failed(end.results, error, isRetried: false)
        }
        return true
    }

    /// Launches, tells observers, reports, answers, in that order. Mostly it is one result without effects.
    private func committed(_ end: CommitEnd) {
        if queue.isFailing, end.results.contains(where: \.isKept) { queue.noteSuccess() }
        var launches: [(store: SessionStore, work: [WorkStart])] = []
        // By the index: each entry would be copied.
        for index in end.entries.indices where !end.entries[index].effects.isEmpty && !end.entries[index].isDisposed {
            guard let store = end.entries[index].store else { continue }
            launches.append((store, store.apply(end.entries[index])))
        }
        for index in end.results.indices { end.results[index].tell() }
        for launch in launches { launch.store.begin(launch.work) }
        let (isDone, settled) = queue.takeSettled()
        for index in end.results.indices {
            let result = end.results[index]
            result.job.finished(result, isSettled: isDone || queue.isSettled(result.intentID))
        }
        for action in settled { action() }
    }

    /// After how many conflicts in a row a batch is given up.
    private var conflictLimit: Int { 8 }

    /// Another writer was first: the jobs run again on the newer head, before anything that came later.
    private func conflicted(_ results: ShortList<JobResult>) -> Bool {
        let conflicts = queue.noteConflict()
        guard conflicts < conflictLimit else {
            failed(
                results, StoreError(.contended, "Other writers were first \(conflicts) times in a row."),
                isRetried: true)
            return true
        }
        // What threw comes with its failure's turn again.
        let jobs = results.filter { !$0.followsPrevious }.map(\.again)
        guard let first = jobs.first else { return true }
        guard putBack(JobBatch(first: first, others: jobs.dropFirst())), conflicts > 1 else { return true }
        // Two writers that lose against each other in step would go on so.
        let time = Duration.milliseconds(Int.random(in: 1...(10 << min(conflicts, 3))))
        Task(executorPreference: environment.executor) { [self, clock = environment.clock] in
            // Nothing cancels it.
            try? await clock.sleep(for: time)
            loadNewer { [self] in drive() }
        }
        return false
    }

    /// Fails jobs that have a caller; keeps the others for a later try.
    ///
    /// What was decided on the state of turns that are lost now is void: such an intent is refused with them, and such a
    /// step is tried again.
    private func failed(_ results: ShortList<JobResult>, _ error: StoreError, isRetried: Bool) {
        var over: [(result: JobResult, isDecided: Bool)] = []
        var parked: [any QueueJob] = []
        var isVoid = hasOtherWriters
        var isDecided = true
        for result in results {
            // The turn of a failure comes again with what threw, or is as good as never asked for.
            if result.followsPrevious, !isDecided { continue }
            isDecided = !result.isKept && !isVoid
            isVoid = isVoid || result.isKept
            if !isDecided, isRetried, result.job.lane == .steps {
                parked.append(result.job)
            } else {
                over.append((result, isDecided))
            }
        }
        // What is only tried again was reported when it failed first.
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
        for job in dropped { job.end(error ?? StoreError(.busy, "Too many turns of failures are already waiting.")) }
        guard setsTimer else { return }
        let pause = environment.pause(afterFailures: queue.noteFailure())
        let task = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
            // Called off by the queue's end.
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            if let self, queue.unpark() { drive() }
        }
        if !queue.attach(task) { task.cancel() }
    }
}

/// What a queue runs.
protocol QueueJob: AnyObject, Sendable {
    var lane: JobLane { get }
    /// Whether it is a call of `onFailure`: of those a bounded number waits to be run again.
    var isFailureTurn: Bool { get }
    /// What its turn is of, for who measures.
    var kind: TurnKind { get }
    /// Runs the job as the next one of its owner's batch and adds the result to it. Returns nil; or the job that is to run
    /// in its place later, and nothing is added, if it has to wait for something first. Called by one thread at a time,
    /// under no lock.
    func run() -> (any QueueJob)?
    /// Calls `resume` once, later, when `run` may go on; false, and no call, if it may now. Called on the job that `run`
    /// returned.
    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool
    /// The job's result stands: its turn, if it led to one, is committed and applied.
    func finished(_ result: JobResult, isSettled: Bool)
    /// The job that runs in its place, with what it takes along from its last run, of which nothing is kept.
    ///
    /// - Parameters:
    ///   - inputs: time and chance as the turn got them; nil if it asked for none.
    ///   - judged: the intent as interceptors left it; nil if there are none.
    ///   - onKept: whether it ran on a store that other writers know.
    func again(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob
    /// Nothing of the job is kept, and it will not run again.
    func end(_ error: StoreError)
}

/// What most jobs do.
extension QueueJob {
    var lane: JobLane { .intents }
    var isFailureTurn: Bool { false }
    var kind: TurnKind { .other }
    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { false }
    func finished(_ result: JobResult, isSettled: Bool) {}
    func again(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob { self }
    func end(_ error: StoreError) {}
}

/// A job that is a function, which adds its result to the batch itself.
final class FunctionJob: QueueJob {
    let lane: JobLane
    private let body: @Sendable (FunctionJob) -> Void
    private let completion: @Sendable (Result<Bool, StoreError>) -> Void

    /// - Parameter completion: called once: with whether something of the job is kept, or why nothing is.
    init(
        _ lane: JobLane, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void = { _ in },
        _ body: @escaping @Sendable (FunctionJob) -> Void
    ) {
        self.lane = lane
        self.body = body
        self.completion = completion
    }

    func run() -> (any QueueJob)? {
        body(self)
        return nil
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        completion(result.outcome.error.map { .failure($0) } ?? .success(result.isKept))
    }

    func end(_ error: StoreError) { completion(.failure(error)) }
}

extension Session {
    /// Changes what is committed next, as a job of its own.
    ///
    /// - Parameters:
    ///   - judge: says, under no lock, why nothing is changed; nil if something may be.
    ///   - done: called once: with whether something is kept, or why nothing is.
    ///   - change: returns whether there is something to keep.
    func enqueue(
        _ lane: JobLane, unless judge: @escaping @Sendable () -> TurnOutcome? = { nil },
        done: @escaping @Sendable (Result<Bool, StoreError>) -> Void = { _ in },
        _ change: @escaping @Sendable (inout SessionCore) -> Bool
    ) {
        enqueue(
            FunctionJob(lane, completion: done) { [self] job in
                let outcome = judge()
                core.withLock { core in
                    if lane == .intents { core.batch.isAnswer = true }
                    let isKept = outcome == nil && change(&core)
                    core.joinOther(job, outcome ?? .ran, isKept: isKept)
                }
            })
    }
}
