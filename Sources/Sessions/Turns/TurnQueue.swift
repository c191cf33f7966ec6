import DequeModule
import Locking
import MVI
import Synchronization

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

/// Jobs that are run and committed together.
struct JobBatch {
    /// The first, and those after it: mostly there is one.
    var first: any QueueJob
    var others: ArraySlice<any QueueJob> = []

    var jobs: [any QueueJob] { [first] + others }
}

/// A serial queue of jobs, and who runs it: the thread that finds it idle. Every other enqueues and goes on.
///
/// Plain data under a lock; nothing here calls out. the session drives it.
package final class TurnQueue: Sendable {
    /// How many jobs are run and committed together at most, so that the first of them is not kept waiting.
    static let batchLimit = 64
    /// How many turns of failures wait to be tried again: code that throws while nothing can be committed throws again
    /// and again.
    static let failureLimit = 64

    struct State {
        /// Why it takes nothing any more.
        var closed: StoreError?
        /// Whether some thread runs it, or something is in flight whose end goes on with it.
        var isRunning = false
        var lanes = JobLanes()
        /// What runs before all else, each as one batch, the last first.
        var again: [JobBatch] = []
        /// How often in a row another writer was faster than what runs.
        var conflicts = 0
        /// What could not be committed and waits for its next try.
        var parked: [any QueueJob] = []
        var isTimerSet = false
        var timer: Task<Void, Never>?
        var settling = Settling()

        var isEmpty: Bool { lanes.count == 0 && again.isEmpty }
    }

    package enum Entry {
        /// The queue was idle: the caller is its runner now, and runs this job first.
        case alone
        case queued
        case refused(StoreError)
    }

    let state: Lock<State>
    /// How often in a row a try failed of what is tried again. Only the runner changes it.
    private let failures = Atomic(0)

    package init() { state = Lock(State()) }

    /// Whether the queue was idle: the caller is its runner now, and runs a job of its own first.
    func enterIdle() -> Bool {
        state.withLock { state in
            guard !state.isRunning, state.closed == nil else { return false }
            state.isRunning = true
            return true
        }
    }

    /// Takes a job.
    func enter(_ job: any QueueJob, limit: Int) -> Entry {
        state.withLock { state in
            if let closed = state.closed { return .refused(closed) }
            // Not running: nothing waits.
            if !state.isRunning {
                state.isRunning = true
                return .alone
            }
            return state.lanes.append(job, limit: limit).map { .refused($0) } ?? .queued
        }
    }

    /// The next batch, for the runner; nil if nothing waits, and the caller is the runner no more.
    func next() -> JobBatch? {
        state.withLock { state in
            if let again = state.again.popLast() { return again }
            state.conflicts = 0
            let batch = state.lanes.takeBatch(limit: Self.batchLimit)
            if batch == nil { state.isRunning = false }
            return batch
        }
    }

    /// The runner puts back what is to run before all else, also before what it put back already. A closed queue does
    /// not take it, and says why.
    func runAgain(_ batch: JobBatch) -> StoreError? {
        state.withLock { state in
            if state.closed == nil { state.again.append(batch) }
            return state.closed
        }
    }

    /// Another writer was faster than what ran; returns how often that was so in a row.
    func noteConflict() -> Int {
        state.withLock { state in
            state.conflicts += 1
            return state.conflicts
        }
    }

    /// Whether nothing waits and nothing is in flight.
    package var isIdle: Bool {
        state.withLock { !$0.isRunning && $0.isEmpty && $0.parked.isEmpty && !$0.isTimerSet }
    }

    /// Whether a thread runs it, or it waits for something that is in flight.
    package var isRunning: Bool { state.withLock { $0.isRunning } }

    /// How many jobs wait, those apart that run or are being committed.
    package var length: Int {
        state.withLock { state in
            let again = state.again.reduce(0) { $0 + 1 + $1.others.count }
            return state.lanes.count + state.parked.count + again
        }
    }

    // MARK: What is tried again

    /// Whether what was tried last failed. Not under the lock: it is asked after each commit.
    var isFailing: Bool { failures.load(ordering: .relaxed) > 0 }

    /// A try has failed; returns how often that was so in a row.
    func noteFailure() -> Int { failures.add(1, ordering: .relaxed).newValue }

    func noteSuccess() { failures.store(0, ordering: .relaxed) }

    /// Keeps jobs for a later try, as far as there is room: returns those that there is none for, and whether the caller
    /// is to set a timer for `unpark`.
    func park(_ jobs: [any QueueJob]) -> (dropped: [any QueueJob], error: StoreError?, setsTimer: Bool) {
        state.withLock { state in
            if let closed = state.closed { return (jobs, closed, false) }
            var dropped: [any QueueJob] = []
            for job in jobs {
                let hasRoom = !job.isFailureTurn || state.parked.count(where: \.isFailureTurn) < Self.failureLimit
                if hasRoom { state.parked.append(job) } else { dropped.append(job) }
            }
            defer { state.isTimerSet = state.isTimerSet || !state.parked.isEmpty }
            return (dropped, nil, !state.isTimerSet && !state.parked.isEmpty)
        }
    }

    /// Keeps the timer's task, unless it has fired already; false if the queue was closed meanwhile.
    func attach(_ timer: Task<Void, Never>) -> Bool {
        state.withLock { state in
            if state.isTimerSet { state.timer = timer }
            return state.closed == nil
        }
    }

    /// The time has come for what was parked; true if the caller is the queue's runner now.
    func unpark() -> Bool {
        state.withLock { state in
            (state.isTimerSet, state.timer) = (false, nil)
            guard state.closed == nil, !state.parked.isEmpty else { return false }
            state.lanes.prependSteps(state.parked)
            state.parked = []
            if state.isRunning { return false }
            state.isRunning = true
            return true
        }
    }

    // MARK: The end

    /// Takes nothing any more, and gives up what waits: returns it, to be ended with the error. What is in flight goes on,
    /// then `last` is run, if it is not nil; `isIdle` says that nothing is, and `last` is not run.
    func close(_ error: StoreError, last: (any QueueJob)? = nil) -> (jobs: [any QueueJob], isIdle: Bool) {
        let (jobs, timer, isIdle) = state.withLock { state -> ([any QueueJob], Task<Void, Never>?, Bool) in
            guard state.closed == nil else { return ([], nil, !state.isRunning) }
            let jobs = state.again.reversed().flatMap(\.jobs) + state.lanes.all + state.parked
            let (timer, isRunning, settling) = (state.timer, state.isRunning, state.settling)
            state = State()
            (state.closed, state.settling) = (error, settling)
            state.isRunning = isRunning
            if isRunning, let last { state.again = [JobBatch(first: last)] }
            return (jobs, timer, !isRunning)
        }
        timer?.cancel()
        return (jobs, isIdle)
    }
}

/// Which jobs wait behind each other. The lanes of a queue take turns, and each has a bound of its own, so that none
/// crowds another out.
enum JobLane: Sendable {
    /// Intents, and what is ordered with them, such as disposals. One more than their bound is refused as busy.
    case intents
    /// Steps of launched work, turns of failures, bootstraps: what cannot be committed is run again later. Each suspends
    /// its caller, so there are as many as tasks of launched work, which `workLimit` bounds.
    case steps
    /// What clients want to see: stores that have to be loaded or made. Bounded as intents are.
    case opens
    /// What comes from no client: reminders, deliveries from outside the features, stores that the server needs itself.
    case server
}

/// Jobs that wait, in lanes that take turns.
struct JobLanes {
    /// How many jobs of the server's own wait at most.
    static let serverLimit = 1_024

    /// How many wait, in all lanes: asked before any of these is looked at.
    private(set) var count = 0
    private var intents: Deque<any QueueJob> = []
    private var steps: Deque<any QueueJob> = []
    private var opens: Deque<any QueueJob> = []
    private var server: Deque<any QueueJob> = []

    /// Adds a job as the last of its lane; returns why not if there is no room.
    ///
    /// - Parameter limit: how many of clients' jobs may wait in each of their lanes.
    mutating func append(_ job: any QueueJob, limit: Int) -> StoreError? {
        switch job.lane {
        case .intents:
            guard intents.count < limit else { return .tooManyJobs("intents") }
            intents.append(job)
        case .steps: steps.append(job)
        case .opens:
            guard opens.count < limit else { return .tooManyJobs("requests for stores") }
            opens.append(job)
        case .server:
            guard server.count < Self.serverLimit else { return .tooManyJobs("jobs of the server's own") }
            server.append(job)
        }
        count += 1
        return nil
    }

    /// Adds jobs as the first of the steps.
    mutating func prependSteps(_ jobs: [any QueueJob]) {
        for job in jobs.reversed() { steps.prepend(job) }
        count += jobs.count
    }

    /// Takes what is to run next: of each lane one in turn, at most so many.
    mutating func takeBatch(limit: Int) -> JobBatch? {
        guard count > 0, let first = intents.popFirst() ?? steps.popFirst() ?? opens.popFirst() ?? server.popFirst()
        else { return nil }
        // Mostly it is the only one.
        var others: ArraySlice<any QueueJob> = []
        count -= 1
        let limit = min(limit - 1, count)
        while others.count < limit {
            if let job = steps.popFirst() { others.append(job) }
            if others.count < limit, let job = opens.popFirst() { others.append(job) }
            if others.count < limit, let job = server.popFirst() { others.append(job) }
            if others.count < limit, let job = intents.popFirst() { others.append(job) }
        }
        count -= others.count
        return JobBatch(first: first, others: others)
    }

    /// All that wait. Not by `Array(_:)`: of an empty deque it writes to the empty array that all threads share.
    var all: [any QueueJob] { [intents, steps, opens, server].flatMap { $0 } }
}

extension StoreError {
    fileprivate static func tooManyJobs(_ what: String) -> StoreError {
        StoreError(.busy, "Too many \(what) are already waiting.")
    }
}
