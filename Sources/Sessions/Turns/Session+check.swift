import Locking
import MVI
import Tracing

/// Asynchronous checks, which run while other jobs of the session go on.
extension Session {
    /// Runs an intent's check, then enqueues the intent with its result.
    func check(_ job: IntentJob, _ check: @escaping PendingCheck, on store: SessionStore) {
        let isBegun = core.withLock { core in
            let rare = core.makeRare()
            var checks = rare.checks ?? RunningChecks()
            defer { rare.checks = checks }
            return core.isLive && checks.begin(job.receipt, isAgain: job.isChecked, limit: shared.limits.runningChecks)
        }
        guard isBegun else {
            job.end(isEnded ? .sessionEnded : .tooManyChecks)
            return leaveCheck(job.receipt)
        }
        let principal = job.request.client.principal
        let context = TurnContext(
            job.intentID, store, principal: principal,
            settings: settings(of: job.request.client),
            origin: job.request.origin ?? job.request.client.origin)
        let judgement = Lock<RunTurn?>(nil)
        let wait = Wait(number: 0) { [self] came in
            let judged = came ? judgement.withLock { $0 } : nil
            let timeOut: RunTurn = { _, _ in TurnResult(.unavailable(.checkTimeOut)) }
            enqueue(job.checked(judged ?? timeOut, as: principal))
        }
        let task = Task(executorPreference: shared.executor) { [self] in
            let trace = job.request.trace ?? .topLevel
            let judged = await ServiceContext.$current.withValue(trace) { await check(store.runner, context) }
            judgement.withLock { $0 = judged }
            // Its intent may have been answered long ago: a check that ignores cancellation keeps its place.
            core.withLock { $0.rare?.checks?.ended() }
            wait.end(true)
        }
        shared.limit(wait, to: shared.limits.longestCheck) { task.cancel() }
    }

    /// Notes, in an intent's turn, that its check will begin: later numbers of its client wait for it from now on.
    func announceCheck(_ name: ReceiptName?) {
        guard let name else { return }
        core.withLock { core in
            let rare = core.makeRare()
            var checks = rare.checks ?? RunningChecks()
            checks.announce(name)
            rare.checks = checks
        }
    }

    /// Continues the intents that waited for a check that does not begin.
    func leaveCheck(_ name: ReceiptName?) {
        let freed = core.withLock { core in core.rare?.checks?.left(name) ?? [] }
        for job in freed { enqueue(job) }
    }

    /// Continues the intents that waited for a checked intent, whose outcome is known now.
    func checkEnded(_ name: ReceiptName?) {
        let freed = core.withLock { core in core.rare?.checks?.decided(name) ?? [] }
        for job in freed { enqueue(job) }
    }
}

extension StoreError {
    fileprivate static let checkTimeOut = StoreError(
        .checkTimeout, "The feature's check timed out.", retryAfter: .seconds(2))
    static let tooManyChecks = StoreError(.busy, "Too many intents are being checked.")
}

/// Begins the check of an intent whose store was not in memory at its arrival, after its turn in the queue.
final class CheckStart: QueueJob {
    private let job: IntentJob
    private let check: PendingCheck
    private let store: SessionStore

    init(_ job: IntentJob, _ check: @escaping PendingCheck, _ store: SessionStore) {
        (self.job, self.check, self.store) = (job, check, store)
    }

    func run() -> WaitingJob? { job.run() }
    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        job.session.leaveCheck(job.receipt)
        return job
    }
    func finished(_ result: JobResult, isSettled: Bool) { job.session.check(job, check, on: store) }
    func end(_ error: StoreError) {
        job.end(error)
        job.session.leaveCheck(job.receipt)
    }
}

/// A session's running asynchronous checks, the intents that they decide, and those that wait since a check of an
/// earlier number of their client runs.
struct RunningChecks {
    /// The numbers of each `Intent-Epoch` that are checked and have no outcome yet.
    private var numbers: [String: Set<UInt64>] = [:]
    private var held: [String: [IntentJob]] = [:]
    private var heldCount = 0
    /// Running checks, including those that were given up and ignore it.
    private var count = 0
    /// Intents that are checked and have no outcome yet.
    private var undecided = 0

    /// True if no check runs, and no intent waits for one.
    var isIdle: Bool { count == 0 && undecided == 0 && numbers.isEmpty }

    /// Begins a check. Returns false if too many run.
    ///
    /// - Parameter isAgain: true if the intent was checked before.
    mutating func begin(_ name: ReceiptName?, isAgain: Bool, limit: Int) -> Bool {
        guard count < limit else { return false }
        count += 1
        if !isAgain { undecided += 1 }
        if case .sequence(let number, let epoch)? = name?.key { numbers[epoch, default: []].insert(number) }
        return true
    }

    /// Counts the end of a check.
    mutating func ended() { count -= 1 }

    /// Notes that a number's check will begin.
    mutating func announce(_ name: ReceiptName) {
        if case .sequence(let number, let epoch) = name.key { numbers[epoch, default: []].insert(number) }
    }

    /// Notes the outcome of a checked intent. Returns the intents to enqueue that waited for it.
    mutating func decided(_ name: ReceiptName?) -> [IntentJob] {
        undecided -= 1
        return left(name)
    }

    /// Notes that an intent is checked no more, or not at all. Returns the intents to enqueue that waited for it.
    mutating func left(_ name: ReceiptName?) -> [IntentJob] {
        guard case .sequence(let number, let epoch)? = name?.key else { return [] }
        numbers[epoch]?.remove(number)
        if numbers[epoch]?.isEmpty == true { numbers[epoch] = nil }
        let freed = held.removeValue(forKey: epoch) ?? []
        heldCount -= freed.count
        return freed
    }

    /// True if a check of an earlier number runs.
    func isHeldUp(_ name: ReceiptName) -> Bool {
        guard case .sequence(let number, let epoch) = name.key else { return false }
        return numbers[epoch]?.contains { $0 < number } ?? false
    }

    /// Holds an intent until the check of an earlier number is over. Returns false if too many wait.
    mutating func hold(_ job: IntentJob, _ name: ReceiptName, limit: Int) -> Bool {
        guard case .sequence(_, let epoch) = name.key, heldCount < limit else { return false }
        heldCount += 1
        held[epoch, default: []].append(job)
        return true
    }

    /// Takes the waiting intents, for the session's end.
    mutating func takeAll() -> [IntentJob] {
        defer { (held, heldCount) = ([:], 0) }
        return held.values.flatMap { $0 }
    }
}
