/// What could not be committed and has nobody to be refused to: bootstrap, steps of launched work, turns of failures.
/// They wait for a while, then run again, each in a batch of its own, so that one that never can be committed keeps no
/// other from it.
@usableFromInline
struct RetryQueue<F: Feature> {
    /// A bootstrap that is still owed: it must run before the next intent.
    private(set) var bootstrap: Life?
    private var parked: [Job<F>] = []
    private var ready: [Job<F>] = []
    private var isTimerSet = false
    private var timer: Task<Void, Never>?
    /// Whether there is nothing to run before or beside the next intent.
    @usableFromInline private(set) var isQuiet = true

    @usableFromInline
    init() {}

    /// Keeps what is to be retried; true if the caller is to set the timer.
    mutating func park(_ jobs: [Job<F>], bootstrap life: Life?) -> Bool {
        parked += jobs
        if let life { bootstrap = life }
        isQuiet = bootstrap == nil && ready.isEmpty
        guard !parked.isEmpty || bootstrap != nil, !isTimerSet else { return false }
        isTimerSet = true
        return true
    }

    /// Keeps the timer's task; false if it was called off or has fired already.
    mutating func attach(_ task: Task<Void, Never>) -> Bool {
        guard isTimerSet else { return false }
        timer = task
        return true
    }

    /// These are to run next, in order, each in a batch of its own.
    mutating func runAlone(_ jobs: [Job<F>]) {
        ready = jobs + ready
        isQuiet = ready.isEmpty && bootstrap == nil
    }

    /// The time has come: everything is ready to run, bootstrap first.
    mutating func wake() {
        isTimerSet = false
        timer = nil
        if let life = takeBootstrap() { ready.append(.bootstrap(life)) }
        ready += parked
        parked = []
        isQuiet = ready.isEmpty
    }

    /// The next job to run alone.
    mutating func takeReady() -> Job<F>? {
        guard !ready.isEmpty else { return nil }
        let job = ready.removeFirst()
        isQuiet = bootstrap == nil && ready.isEmpty
        return job
    }

    /// A bootstrap that an intent must not overtake.
    mutating func takeBootstrap() -> Life? {
        defer {
            bootstrap = nil
            isQuiet = ready.isEmpty
        }
        return bootstrap
    }

    mutating func removeAll() -> (jobs: [Job<F>], timer: Task<Void, Never>?) {
        let all = (jobs: ready + parked, timer: timer)
        self = RetryQueue()
        return all
    }
}
