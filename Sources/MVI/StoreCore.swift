/// What a store's lock guards: plain data and the decisions on it; nothing here calls out.
struct StoreCore<F: Feature> {
    enum Phase { case created, started, disposed }

    /// What the end leaves for the caller to act on, after the lock.
    struct End {
        var tasks: [Task<Void, Never>]
        var jobs: [Job<F>]
        var mailboxes: [Mailbox<F>]
        var settleWaiters: [@Sendable () -> Void]
    }

    var phase = Phase.created
    /// Whether some thread runs the queue, or a commit is in flight that will go on with it.
    var isRunning = false
    var pending: [Job<F>] = []
    var state: F.State
    var view: F.ViewState
    let life: Life
    var work = WorkTable<F>()
    var subscribers: [SubscriptionID: Mailbox<F>] = [:]
    var nextSubscription: UInt64 = 0
    /// Labels that nobody was there for.
    var undelivered: [F.Label] = []
    var diagnostics = StoreDiagnostics()

    init(state: F.State, view: F.ViewState, life: Life) {
        self.state = state
        self.view = view
        self.life = life
    }

    enum Enqueued { case run, queued, refused(IntentRejection) }

    mutating func enqueue(_ job: Job<F>, limit: Int) -> Enqueued {
        if phase == .disposed {
            diagnostics.droppedAfterEnd += 1
            return .refused(.disposed)
        }
        if case .intent = job, pending.count >= limit { return .refused(.busy) }
        pending.append(job)
        if phase == .created || isRunning { return .queued }
        isRunning = true
        return .run
    }

    /// How many jobs are run and committed together at most, so that the first of them is not kept waiting.
    static var batchLimit: Int { 64 }

    /// The jobs to run next, or nil, which ends the run.
    mutating func takeBatch() -> [Job<F>]? {
        if pending.isEmpty {
            isRunning = false
            return nil
        }
        if pending.count <= Self.batchLimit {
            let batch = pending
            pending.removeAll(keepingCapacity: false)
            return batch
        }
        let batch = Array(pending.prefix(Self.batchLimit))
        pending.removeFirst(Self.batchLimit)
        return batch
    }

    /// Takes a committed turn and returns the mailboxes that have something new.
    mutating func show(_ record: TurnRecord<F>, labelLimit: Int, undelivered lost: inout Int) {
        state = record.state
        view = record.view
        if record.viewChanged {
            for mailbox in subscribers.values where mailbox.takesStates { mailbox.append(.state(record.view)) }
        }
        guard !record.labels.isEmpty else { return }
        let takers = subscribers.values.filter { $0.takesLabels }
        if takers.isEmpty {
            // With a log, labels wait in its outbox, and a second copy here would be delivered twice.
            guard labelLimit > 0 else { return }
            undelivered.append(contentsOf: record.labels)
            if undelivered.count > labelLimit {
                let excess = undelivered.count - labelLimit
                undelivered.removeFirst(excess)
                diagnostics.undeliveredLabels += excess
                lost += excess
            }
        } else {
            for label in record.labels {
                for mailbox in takers { mailbox.append(.label(label)) }
            }
        }
    }

    mutating func dispose() -> End? {
        guard phase != .disposed else { return nil }
        phase = .disposed
        let (tasks, waiters) = work.removeAll()
        let end = End(
            tasks: tasks, jobs: pending, mailboxes: Array(subscribers.values), settleWaiters: waiters)
        diagnostics.droppedAfterEnd += pending.count
        diagnostics.undeliveredLabels += undelivered.count
        pending = []
        subscribers = [:]
        undelivered = []
        return end
    }
}
