import DequeModule
import Locking
import MVI

/// Jobs that are run and committed together.
struct JobBatch {
    /// The first, and those after it. In most cases there is one.
    var first: any QueueJob
    var others: ArraySlice<any QueueJob> = []

    var jobs: [any QueueJob] { [first] + others }
}

extension JobBatch {
    /// Nil without jobs.
    init?(_ jobs: [any QueueJob]) {
        guard let first = jobs.first else { return nil }
        self.init(first: first, others: jobs.dropFirst())
    }
}

/// A serial queue of jobs, run by the thread that finds it idle. Other threads enqueue and go on.
///
/// Plain data under a lock, without callbacks. The session drives it.
package struct TurnQueue: Sendable {
    /// The maximum number of jobs in a batch, so that the first of them does not wait too long, and of a space's callers
    /// in one append.
    static let batchLimit = 64
    /// The maximum number of failure turns that wait for a retry: code that throws while nothing can be committed
    /// throws again and again.
    static let failureLimit = 64

    struct State {
        /// The error for new jobs of a closed queue.
        var closed: StoreError?
        /// True if a thread runs it, or something is in flight that continues it.
        var isRunning = false
        /// The number of failed retries in a row.
        var failures: Int32 = 0
        /// Nil if nothing waits.
        var waiting: Waiting?

        /// Returns what waits, creating it if needed.
        mutating func makeWaiting() -> Waiting {
            if let waiting { return waiting }
            let made = Waiting()
            waiting = made
            return made
        }

        /// Frees what waits if that is nothing.
        mutating func rest() { if waiting?.isBlank == true { waiting = nil } }
    }

    /// Members that an idle queue does not need.
    final class Waiting {
        var lanes = JobLanes()
        /// Batches that run before all others, the last first.
        var again: [JobBatch] = []
        /// The number of conflicts in a row with other writers.
        var conflicts = 0
        /// Jobs that could not be committed and wait for a retry.
        var parked: [any QueueJob] = []
        var isTimerSet = false
        var timer: Task<Void, Never>?
        var settling = Settling()
        /// The error for new intents while the outcome of a commit is unknown.
        var refusal: StoreError?

        /// True if no job waits, now or for a retry.
        var isIdle: Bool { lanes.count == 0 && again.isEmpty && parked.isEmpty && !isTimerSet }

        var isBlank: Bool { isIdle && conflicts == 0 && settling.isDone && !settling.isHeld && refusal == nil }
    }

    package enum Entry {
        /// The queue was idle: the caller is its runner now, and runs this job first.
        case alone
        case queued
        case refused(StoreError)
    }

    let state: Lock<State>

    package init() { state = Lock(State()) }

    /// Returns true if the queue was idle: the caller is its runner now, and runs a job of its own first.
    func enterIdle() -> Bool {
        state.withLock { state in
            guard !state.isRunning, state.closed == nil else { return false }
            state.isRunning = true
            return true
        }
    }

    /// Enqueues a job.
    func enter(_ job: any QueueJob, limit: Int) -> Entry {
        state.withLock { state in
            if let closed = state.closed { return .refused(closed) }
            // If it is not running, nothing waits.
            if !state.isRunning {
                state.isRunning = true
                return .alone
            }
            let waiting = state.makeWaiting()
            if let refusal = waiting.refusal, job.lane == .intents { return .refused(refusal) }
            return waiting.lanes.append(job, limit: limit).map { .refused($0) } ?? .queued
        }
    }

    /// Returns the next batch for the runner. Nil if nothing waits: the caller is then no longer the runner.
    func next() -> JobBatch? {
        state.withLock { state in
            if let waiting = state.waiting {
                if let again = waiting.again.popLast() { return again }
                waiting.conflicts = 0
                if waiting.lanes.count > 0 { return waiting.lanes.takeBatch(limit: Self.batchLimit) }
                state.rest()
            }
            state.isRunning = false
            return nil
        }
    }

    /// Puts back a batch to run before all others, also before earlier ones. Called by the runner. A closed queue
    /// refuses it with its error.
    func runAgain(_ batch: JobBatch) -> StoreError? {
        state.withLock { state in
            if state.closed == nil { state.makeWaiting().again.append(batch) }
            return state.closed
        }
    }

    /// Counts a conflict with another writer. Returns the number in a row.
    func noteConflict() -> Int {
        state.withLock { state in
            let waiting = state.makeWaiting()
            waiting.conflicts += 1
            return waiting.conflicts
        }
    }

    /// True if nothing waits and nothing is in flight.
    package var isIdle: Bool { state.withLock { !$0.isRunning && $0.waiting?.isIdle != false } }

    /// True if a thread runs it, or something in flight continues it.
    package var isRunning: Bool { state.withLock { $0.isRunning } }

    /// The number of waiting jobs, without those that run or are being committed.
    package var length: Int {
        state.withLock { state in
            guard let waiting = state.waiting else { return 0 }
            let again = waiting.again.reduce(0) { $0 + 1 + $1.others.count }
            return waiting.lanes.count + waiting.parked.count + again
        }
    }

    // MARK: End

    /// Closes the queue. Returns the waiting jobs, to be ended with the error. Jobs in flight go on, then `last` runs
    /// unless it is nil; if `isIdle`, nothing is in flight and `last` does not run.
    func close(_ error: StoreError, last: (any QueueJob)? = nil) -> (jobs: [any QueueJob], isIdle: Bool) {
        let (jobs, timer, isIdle) = state.withLock { state -> ([any QueueJob], Task<Void, Never>?, Bool) in
            guard state.closed == nil else { return ([], nil, !state.isRunning) }
            state.closed = error
            let waiting = state.makeWaiting()
            let jobs = waiting.again.reversed().flatMap(\.jobs) + waiting.lanes.all + waiting.parked
            let timer = waiting.timer
            (waiting.lanes, waiting.parked, waiting.isTimerSet, waiting.timer) = (JobLanes(), [], false, nil)
            waiting.again = state.isRunning ? last.map { [JobBatch(first: $0)] } ?? [] : []
            state.rest()
            return (jobs, timer, !state.isRunning)
        }
        timer?.cancel()
        return (jobs, isIdle)
    }
}

/// The lanes of a queue. Jobs of a lane wait behind each other. The lanes take turns, and each has its own limit, so
/// that none crowds out another.
enum JobLane: Sendable {
    /// Intents, and jobs that are ordered with them, such as disposals. Beyond their limit they are refused as busy.
    case intents
    /// Steps of launched work, failure turns, bootstraps. Uncommitted ones are run again later. Each suspends its
    /// caller, so `workLimit` bounds their number.
    case steps
    /// Requests to show stores that have to be loaded or created. Limited like intents.
    case opens
    /// Jobs of no client: reminders, deliveries from outside the features, stores that the server needs itself.
    case server
}

/// Waiting jobs, in lanes that take turns.
struct JobLanes {
    /// The maximum number of waiting server jobs.
    static let serverLimit = 1_024

    /// The number of waiting jobs in all lanes, checked before any of them.
    private(set) var count = 0
    private var intents: Deque<any QueueJob> = []
    private var steps: Deque<any QueueJob> = []
    private var opens: Deque<any QueueJob> = []
    private var server: Deque<any QueueJob> = []

    /// Adds a job as the last of its lane. Returns an error if there is no room.
    ///
    /// - Parameter limit: the maximum number of clients' jobs in each of their lanes.
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
            guard server.count < Self.serverLimit else { return .tooManyJobs("server jobs") }
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

    /// Takes the intents, and jobs that are ordered with them.
    mutating func takeIntents() -> Deque<any QueueJob> {
        count -= intents.count
        defer { intents = [] }
        return intents
    }

    /// Takes the next jobs: one of each lane in turn, up to the limit.
    mutating func takeBatch(limit: Int) -> JobBatch? {
        guard let first = intents.popFirst() ?? steps.popFirst() ?? opens.popFirst() ?? server.popFirst()
        else { return nil }
        // In most cases it is the only one.
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

    /// All waiting jobs. Not by `Array(_:)`: of an empty deque it writes to the empty array that all threads share.
    var all: [any QueueJob] { [intents, steps, opens, server].flatMap { $0 } }
}

extension StoreError {
    fileprivate static func tooManyJobs(_ what: String) -> StoreError {
        StoreError(.busy, "Too many \(what) are already waiting.")
    }
}

/// The numbers of pieces of work that run or wait for each intent, over all stores of a queue, and the requests that
/// wait until an intent has none.
struct Settling {
    private var counts: [IntentID: Int] = [:]
    /// Each waits for an intent that had work when it came.
    private var waiters: [(intentID: IntentID, id: UInt64, action: @Sendable () -> Void)] = []
    /// True while a batch is applied that ends some work and begins other: waiters are called after both.
    var isHeld = false

    /// True if no work of any intent is running, and no waiter is left to be called.
    var isDone: Bool { counts.isEmpty && waiters.isEmpty }

    func isSettled(_ intentID: IntentID) -> Bool { counts[intentID] == nil }

    mutating func note(_ changes: [WorkCount]) {
        for change in changes {
            let count = (counts[change.intentID] ?? 0) + change.difference
            counts[change.intentID] = count > 0 ? count : nil
        }
    }

    mutating func wait(for intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        guard !isSettled(intentID) else { return false }
        waiters.append((intentID, id, action))
        return true
    }

    /// Takes the waiters whose intent has no work left.
    mutating func takeSettled() -> [@Sendable () -> Void] {
        if waiters.isEmpty || isHeld { return [] }
        let counts = counts
        return remove { intentID, _ in counts[intentID] == nil }
    }

    /// Removes and returns the waiters that match the condition, to be called, or released after the lock.
    mutating func remove(where isRemoved: (_ intentID: IntentID, _ id: UInt64) -> Bool) -> [@Sendable () -> Void] {
        let taken = waiters.filter { isRemoved($0.intentID, $0.id) }
        waiters.removeAll { isRemoved($0.intentID, $0.id) }
        return taken.map(\.action)
    }
}

/// A change of an intent's count of work.
struct WorkCount: Sendable {
    let intentID: IntentID
    let difference: Int
}

/// The work of each intent, counted once over all stores of the queue that the intent reached. All may be called from
/// any thread.
extension TurnQueue {
    /// Records changes of a store's work. Returns the callbacks to call now, under no lock.
    func note(_ changes: [WorkCount]) -> [@Sendable () -> Void] {
        if changes.isEmpty { return [] }
        return state.withLock { state in
            let waiting = state.makeWaiting()
            waiting.settling.note(changes)
            defer { if !state.isRunning { state.rest() } }
            return waiting.settling.takeSettled()
        }
    }

    /// The same for the changes of a committed batch: the callbacks are taken when all of them are recorded.
    func noteOfBatch(_ changes: [WorkCount]) {
        if !changes.isEmpty { state.withLock { $0.makeWaiting().settling.note(changes) } }
    }

    /// Defers callbacks of settled intents until `takeSettled`: stores end with a batch in which other stores may begin
    /// work of the same intents.
    package func holdSettled() { state.withLock { $0.makeWaiting().settling.isHeld = true } }

    /// Takes the callbacks after a committed batch, and returns true if no intent has work.
    ///
    /// - Parameter isKept: The batch has stored something, which ends a series of failures.
    func takeSettled(isKept: Bool) -> (isDone: Bool, actions: [@Sendable () -> Void]) {
        state.withLock { state in
            if isKept { state.failures = 0 }
            guard let waiting = state.waiting else { return (true, []) }
            waiting.settling.isHeld = false
            if waiting.settling.isDone { return (true, []) }
            let actions = waiting.settling.takeSettled()
            return (waiting.settling.isDone, actions)
        }
    }

    /// True if no work that the intent launched is running.
    func isSettled(_ intentID: IntentID) -> Bool {
        state.withLock { $0.waiting?.settling.isSettled(intentID) != false }
    }

    /// Calls `action` once when no work of the intent is running. Returns false, and does not call, if that is so now.
    package func whenSettled(_ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.waiting?.settling.wait(for: intentID, id: id, action) == true }
    }

    /// Cancels `whenSettled`. The call may be under way already.
    package func stopWaiting(for intentID: IntentID, id: UInt64) {
        let actions = state.withLock { state in state.waiting?.settling.remove { $0 == intentID && $1 == id } }
        withExtendedLifetime(actions) {}
    }
}
