/// What a store's lock guards: plain data and the decisions on it; nothing here calls out.
@usableFromInline
struct StoreCore<F: Feature> {
    @usableFromInline
    enum Phase { case created, started, passive, disposed }

    /// What the end leaves for the caller to act on, after the lock.
    struct End {
        var leaving: LeavingWork
        var timer: Task<Void, Never>?
        var jobs: [Job<F>]
        var mailboxes: [Mailbox<F>]
        var settleWaiters: [@Sendable () -> Void]
        /// Whether observers are to be told now: no turn is under way.
        var isAnnounced: Bool
    }

    @usableFromInline var phase = Phase.created
    /// Whether some thread runs the queue, or a commit is in flight that will go on with it.
    @usableFromInline var isRunning = false
    @usableFromInline var pending: [Job<F>] = []
    /// Nil as long as nothing ever was to be retried.
    @usableFromInline var retry: RetryQueue<F>?
    @usableFromInline var state: F.State
    @usableFromInline var view: F.ViewState
    let life: Life
    @usableFromInline var work = WorkTable<F>()
    @usableFromInline var subscribers: [SubscriptionID: Mailbox<F>] = [:]
    var nextSubscription: UInt64 = 0
    /// Labels that nobody was there for.
    var undelivered: [F.Label] = []
    /// Nil as long as there is nothing to tell.
    private var troubles: Troubles?

    private final class Troubles {
        var diagnostics = StoreDiagnostics()
    }

    init(state: F.State, view: F.ViewState, life: Life) {
        self.state = state
        self.view = view
        self.life = life
    }

    /// What the store can tell of its condition, as far as it counts it.
    var diagnostics: StoreDiagnostics { troubles?.diagnostics ?? StoreDiagnostics() }

    mutating func note(_ change: (inout StoreDiagnostics) -> Void) {
        let troubles = troubles ?? Troubles()
        change(&troubles.diagnostics)
        self.troubles = troubles
    }

    // MARK: The queue

    /// Whether there is nothing to run before or beside the next intent.
    @inlinable var isQuiet: Bool { retry?.isQuiet ?? true }

    /// Where what is to be retried waits.
    mutating func retrying() -> RetryQueue<F> {
        let queue = retry ?? RetryQueue()
        retry = queue
        return queue
    }

    @usableFromInline
    enum Entered {
        /// The queue was idle: the caller is its runner now and runs its job on this head, then the queue.
        case alone(WorkingHead<F>)
        /// The same with something to run before.
        case run
        case queued
        case refused(IntentRejection)
    }

    @inlinable
    mutating func enter(_ job: Job<F>, limit: Int) -> Entered {
        // Not running: nothing waits.
        if phase == .started, !isRunning {
            isRunning = true
            if isQuiet { return .alone(WorkingHead(state: state, view: view)) }
            pending.append(job)
            return .run
        }
        return enqueue(job, limit: limit)
    }

    @usableFromInline
    mutating func enqueue(_ job: Job<F>, limit: Int) -> Entered {
        switch phase {
        case .created, .started: break
        case .passive: return .refused(.passivated)
        case .disposed:
            note { $0.droppedAfterEnd += 1 }
            return .refused(.disposed)
        }
        if case .intent = job, pending.count >= limit { return .refused(.busy) }
        pending.append(job)
        return .queued
    }

    /// How many jobs are run and committed together at most, so that the first of them is not kept waiting.
    static var batchLimit: Int { 64 }

    @usableFromInline
    enum Next {
        /// `conflicts` is how often in a row another writer was faster than this batch.
        case batch([Job<F>], WorkingHead<F>, conflicts: Int)
        /// Nothing is left and the runner stops, the last one of a disposed store after telling the observers.
        case idle(announcesEnd: Bool)
    }

    @inlinable
    mutating func takeBatch() -> Next {
        if pending.isEmpty, isQuiet {
            isRunning = false
            return .idle(announcesEnd: phase == .disposed)
        }
        return takeWaiting()
    }

    @usableFromInline
    mutating func takeWaiting() -> Next {
        let head = WorkingHead<F>(state: state, view: view)
        if let (jobs, conflicts) = retry?.takeReady() { return .batch(jobs, head, conflicts: conflicts) }
        if pending.isEmpty {
            // A bootstrap is owed, but its time has not come.
            isRunning = false
            return .idle(announcesEnd: phase == .disposed)
        }
        var batch: [Job<F>] = []
        if let life = retry?.takeBootstrap() { batch.append(.bootstrap(life)) }
        if batch.isEmpty, pending.count <= Self.batchLimit {
            swap(&batch, &pending)
        } else {
            let count = min(pending.count, Self.batchLimit)
            batch += pending[..<count]
            pending.removeFirst(count)
        }
        return .batch(batch, head, conflicts: 0)
    }

    // MARK: Committed turns

    /// Takes a committed turn; `shown` gathers what follows from it outside the lock.
    @inlinable
    mutating func commit(_ item: Ran<F>, at index: Int, labelLimit: Int, shown: inout Shown<F>) {
        if let trouble = item.trouble {
            shown.hasTrouble = true
            if let failure = trouble.failure { note(failure) }
        }
        if let record = item.record {
            state = record.state
            view = record.view
            if phase != .disposed, !subscribers.isEmpty, record.viewChanged { tellStates(record.view) }
            if !record.labels.isEmpty { tell(record.labels, labelLimit: labelLimit, undelivered: &shown.lost) }
            if phase != .disposed, !item.effects.isEmpty {
                work.apply(
                    item.effects, intentID: item.intentID, isBootstrap: item.job.isBootstrap, started: &shown.started,
                    leaving: &shown.leaving)
            }
        }
        if !work.isAllSettled, !work.isSettled(item.intentID) { shown.unsettled.append(index) }
    }

    /// What follows from all turns of a batch together.
    @inlinable
    mutating func gather(into shown: inout Shown<F>) {
        if work.mayHaveSettled { shown.settled = work.takeSettled() }
        if !subscribers.isEmpty { shown.mailboxes = Array(subscribers.values) }
    }

    @usableFromInline
    mutating func note(_ failure: Failure) {
        note {
            $0.failures += 1
            if failure.stage == .bootstrap { $0.bootstrapFailure = failure }
        }
    }

    @inlinable
    func tellStates(_ view: F.ViewState) {
        for mailbox in subscribers.values where mailbox.takesStates { mailbox.append(.state(view)) }
    }

    @usableFromInline
    mutating func tell(_ labels: [F.Label], labelLimit: Int, undelivered lost: inout Int) {
        // Nobody is there and they wait elsewhere, in a log's outbox; a copy here would be delivered twice.
        if subscribers.isEmpty, labelLimit == 0 { return }
        let takers = subscribers.values.filter { $0.takesLabels }
        for label in labels {
            for mailbox in takers { mailbox.append(.label(label)) }
        }
        if takers.isEmpty {
            undelivered += labels
            trimUndelivered(to: phase == .disposed ? 0 : labelLimit, labelLimit, lost: &lost)
        }
    }

    private mutating func trimUndelivered(to room: Int, _ labelLimit: Int, lost: inout Int) {
        let excess = undelivered.count - room
        guard excess > 0 else { return }
        undelivered.removeFirst(excess)
        // With a bound of zero they wait elsewhere.
        guard labelLimit > 0 else { return }
        note { $0.undeliveredLabels += excess }
        lost += excess
    }

    // MARK: Subscribers and the end

    /// Takes a subscriber out and closes its mailbox. The labels that wait in it stay, if nobody else had them.
    mutating func unsubscribe(_ id: SubscriptionID, labelLimit: Int, undelivered lost: inout Int) -> Mailbox<F>? {
        guard let mailbox = subscribers.removeValue(forKey: id) else { return nil }
        let labels = mailbox.close()
        if !subscribers.values.contains(where: { $0.takesLabels }) {
            undelivered = labels + undelivered
            trimUndelivered(to: labelLimit, labelLimit, lost: &lost)
        }
        return mailbox
    }

    /// Becomes passive if nothing of the store would be missed.
    mutating func passivate() -> Bool {
        guard phase == .started, !isRunning, pending.isEmpty, retry?.isEmpty != false, work.isDormant,
            subscribers.isEmpty,
            undelivered.isEmpty
        else { return false }
        phase = .passive
        return true
    }

    mutating func dispose() -> End? {
        guard phase != .disposed else { return nil }
        phase = .disposed
        let (leaving, waiters) = work.removeAll()
        let (retried, timer) = retry?.removeAll() ?? ([], nil)
        let end = End(
            leaving: leaving, timer: timer, jobs: pending + retried, mailboxes: Array(subscribers.values),
            settleWaiters: waiters, isAnnounced: !isRunning)
        let lost = undelivered.count
        if !end.jobs.isEmpty || lost > 0 {
            note {
                $0.droppedAfterEnd += end.jobs.count
                $0.undeliveredLabels += lost
            }
        }
        pending = []
        subscribers = [:]
        undelivered = []
        return end
    }
}

/// What follows a commit, outside the lock.
@usableFromInline
struct Shown<F: Feature> {
    @usableFromInline var started: [WorkTable<F>.Start] = []
    @usableFromInline var leaving = LeavingWork()
    @usableFromInline var settled: [@Sendable () -> Void] = []
    @usableFromInline var mailboxes: [Mailbox<F>] = []
    /// Indices of the turns whose intents have work that runs: few or none.
    @usableFromInline var unsettled: [Int] = []
    @usableFromInline var hasTrouble = false
    /// How many labels were given up.
    @usableFromInline var lost = 0

    @inlinable
    init() {}
}
