/// What is to run again: a batch that lost against another writer; and what could not be committed and has nobody to be
/// refused to, which is bootstrap, steps of launched work, turns of failures. The latter wait for a while, then run
/// again, each in a batch of its own, so that one that never can be committed keeps no other from it.
///
/// Used under the store's lock only. A class, so that a store in which nothing was ever retried holds one empty reference.
@usableFromInline
final class RetryQueue<F: Feature> {
    /// A bootstrap that is still owed: it must run before the next intent.
    private var bootstrap: Life?
    private var parked: [Job<F>] = []
    private var ready: [Job<F>] = []
    /// The batch that lost, and how often in a row it did.
    private var again: [Job<F>] = []
    private var conflicts = 0
    private var isTimerSet = false
    private var timer: Task<Void, Never>?
    /// Whether there is nothing to run before or beside the next intent.
    @usableFromInline private(set) var isQuiet = true

    init() {}

    /// Whether there is nothing to run now or later.
    var isEmpty: Bool { isQuiet && parked.isEmpty && !isTimerSet }

    /// How many turns of failures are kept: whoever throws while nothing can be committed throws again and again.
    static var failureLimit: Int { 64 }

    /// Keeps what is to be retried, and gives back what there is no room for; true if the caller is to set the timer.
    func park(_ jobs: [Job<F>], bootstrap life: Life?, dropped: inout [FailureJob]) -> Bool {
        var failures = (parked + ready).count { if case .failure = $0 { true } else { false } }
        for job in jobs {
            if case .failure(let failure) = job {
                guard failures < Self.failureLimit else {
                    dropped.append(failure)
                    continue
                }
                failures += 1
            }
            parked.append(job)
        }
        if let life { bootstrap = life }
        noteQuiet()
        guard !parked.isEmpty || bootstrap != nil, !isTimerSet else { return false }
        isTimerSet = true
        return true
    }

    /// Keeps the timer's task; false if it was called off or has fired already.
    func attach(_ task: Task<Void, Never>) -> Bool {
        guard isTimerSet else { return false }
        timer = task
        return true
    }

    /// These are to run next, in order, each in a batch of its own.
    func runAlone(_ jobs: [Job<F>]) {
        ready = jobs + ready
        noteQuiet()
    }

    /// These are to run next, as one batch, which another writer was faster than that many times.
    func runAgain(_ jobs: [Job<F>], conflicts: Int) {
        again = jobs
        self.conflicts = conflicts
        noteQuiet()
    }

    /// The time has come: everything is ready to run, bootstrap first.
    func wake() {
        isTimerSet = false
        timer = nil
        if let life = takeBootstrap() { ready.append(.bootstrap(life)) }
        ready += parked
        parked = []
        noteQuiet()
    }

    /// The batch to run before all else, and how often in a row another writer was faster than it.
    func takeReady() -> (jobs: [Job<F>], conflicts: Int)? {
        defer { noteQuiet() }
        if !again.isEmpty {
            let jobs = again
            again = []
            return (jobs, conflicts)
        }
        guard !ready.isEmpty else { return nil }
        let job = ready.removeFirst()
        if case .intent = job, let life = takeBootstrap() { return ([.bootstrap(life), job], 0) }
        return ([job], 0)
    }

    /// A bootstrap that an intent must not overtake.
    func takeBootstrap() -> Life? {
        defer {
            bootstrap = nil
            noteQuiet()
        }
        return bootstrap
    }

    func removeAll() -> (jobs: [Job<F>], timer: Task<Void, Never>?) {
        defer {
            (bootstrap, again, ready, parked) = (nil, [], [], [])
            (conflicts, isTimerSet, timer) = (0, false, nil)
            noteQuiet()
        }
        return (again + ready + parked, timer)
    }

    private func noteQuiet() {
        isQuiet = bootstrap == nil && ready.isEmpty && again.isEmpty
    }
}
