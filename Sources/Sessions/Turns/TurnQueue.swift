import DequeModule
import Locking
import MVI
import Synchronization

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
            let batch = state.lanes.count > 0 ? state.lanes.takeBatch(limit: Self.batchLimit) : nil
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
        guard let first = intents.popFirst() ?? steps.popFirst() ?? opens.popFirst() ?? server.popFirst()
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

/// The counts of the work that runs or waits for each intent, over all stores of a queue, and the requests that wait until
/// an intent has none.
struct Settling {
    private var counts: [IntentID: Int] = [:]
    /// Each waits for an intent that had work when it came.
    private var waiters: [(intentID: IntentID, id: UInt64, action: @Sendable () -> Void)] = []
    /// Whether a batch is being applied that ends some work and begins other: who waits is told after both.
    var isHeld = false

    /// Whether no work of any intent is running, and no waiter is to be told so.
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

    /// Removes and returns the waiters of which the condition holds, for the caller to call, or to let die after the lock.
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

/// The work of each intent, counted once over all stores of the queue that the intent reached. All may be called from any
/// thread.
extension TurnQueue {
    /// Notes changes of a store's work; returns what is to be called now, under no lock.
    func note(_ changes: [WorkCount]) -> [@Sendable () -> Void] {
        if changes.isEmpty { return [] }
        return state.withLock { state in
            state.settling.note(changes)
            return state.settling.takeSettled()
        }
    }

    /// The same for changes that a committed batch makes: what is to be called is taken when all of them are noted.
    func noteOfBatch(_ changes: [WorkCount]) {
        if !changes.isEmpty { state.withLock { $0.settling.note(changes) } }
    }

    /// Holds news of settled intents back until `takeSettled`: stores end with a batch in which other stores may begin work of
    /// the same intents.
    package func holdSettled() { state.withLock { $0.settling.isHeld = true } }

    /// Takes what is to be called after a committed batch, and says whether no intent has work.
    func takeSettled() -> (isDone: Bool, actions: [@Sendable () -> Void]) {
        state.withLock { state in
            state.settling.isHeld = false
            if state.settling.isDone { return (true, []) }
            let actions = state.settling.takeSettled()
            return (state.settling.isDone, actions)
        }
    }

    /// Whether no work that the intent launched is running.
    func isSettled(_ intentID: IntentID) -> Bool { state.withLock { $0.settling.isSettled(intentID) } }

    /// Calls `action` once when no work that the intent launched is running: false, and no call, if that is so now.
    package func whenSettled(_ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.settling.wait(for: intentID, id: id, action) }
    }

    /// Takes `whenSettled` back. The call may be under way already.
    package func stopWaiting(for intentID: IntentID, id: UInt64) {
        let actions = state.withLock { state in state.settling.remove { $0 == intentID && $1 == id } }
        withExtendedLifetime(actions) {}
    }
}
