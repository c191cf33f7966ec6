/// Names one piece of launched work, inside its store.
@usableFromInline
struct WorkToken: Hashable, Sendable {
    let number: UInt64
}

/// Which work runs, waits or is registered, and for which intent. A pure state machine: it says what to start and to
/// cancel, the store does it after its lock.
@usableFromInline
struct WorkTable<F: Feature> {
    /// Work to be started by the store.
    @usableFromInline
    struct Start: Sendable {
        let token: WorkToken
        let intentID: IntentID
        let operation: Turn<F>.Operation
    }

    private struct Running {
        let request: WorkRequest<F>
        let intentID: IntentID
        /// For the interval of a `throttle`, which is not work of the author's: the id that it holds back.
        var window: WorkID?
        /// Nil between the decision to start and the task's existence.
        var task: Task<Void, Never>?
    }

    private struct Waiting {
        let token: WorkToken
        let request: WorkRequest<F>
        let intentID: IntentID
    }

    private var lastToken: UInt64 = 0
    private var running: [WorkToken: Running] = [:]
    /// The running work of each id.
    private var active: [WorkID: [WorkToken]] = [:]
    private var queues: [WorkID: [Waiting]] = [:]
    private var queuedCount = 0
    /// Throttled ids whose interval has not passed.
    private var throttled: [WorkID: WorkToken] = [:]
    private var watching = Watching<F>()
    @usableFromInline var settling = Settling()

    @usableFromInline
    init() {}

    var runningCount: Int { running.count }

    /// Pieces of work that run, wait in a queue, hold back others or are registered for watchers.
    var count: Int { running.count + queuedCount + watching.count }

    /// The names of the author's work that runs.
    var inProgress: [String] {
        running.filter { $0.value.window == nil }
            .sorted { $0.key.number < $1.key.number }
            .map { $0.value.request.id?.name ?? "work without an id" }
    }

    /// Whether nothing runs, waits or is waited for, and nothing is registered that bootstrap would not register again.
    var isDormant: Bool {
        running.isEmpty && queues.isEmpty && !settling.hasWaiters && !watching.isWatched && watching.isAllOfBootstrap
    }

    func isLive(_ token: WorkToken) -> Bool { running[token] != nil }

    /// Whether what the work dispatches is still taken, in a batch whose earlier turns cancel those ids.
    @usableFromInline
    func isLive(_ token: WorkToken, unless cancelled: Set<WorkID>) -> Bool {
        guard let entry = running[token] else { return false }
        guard !cancelled.isEmpty, let id = entry.request.id else { return true }
        return !cancelled.contains(id)
    }

    func id(of token: WorkToken) -> WorkID? { running[token]?.request.id }

    /// The count with those effects, in a copy that nobody uses for anything else.
    mutating func count(with effects: [Effect<F>]) -> Int {
        var started: [Start] = []
        var leaving = LeavingWork()
        apply(effects, intentID: .bootstrap, isBootstrap: false, started: &started, leaving: &leaving)
        return count
    }

    // MARK: Starting and cancelling

    @usableFromInline
    mutating func apply(
        _ effects: [Effect<F>], intentID: IntentID, isBootstrap: Bool, started: inout [Start],
        leaving: inout LeavingWork
    ) {
        for effect in effects {
            switch effect {
            case .launch(let request):
                launch(request, intentID, &started, &leaving)
            case .throttle(let interval, let request):
                throttle(interval, request, intentID, &started, &leaving)
            case .whileWatched(let grace, let request):
                guard let id = request.id else { break }
                let before = watching.register(
                    request, id: id, intentID: intentID, grace: grace, isOfBootstrap: isBootstrap)
                if let before { leaving.add(before) }
                if watching.isWatched { launch(request, intentID, &started, &leaving) }
            case .cancel(let id):
                if let request = watching.forget(id) { leaving.add(request) }
                cancelAll(id, &leaving)
            }
        }
    }

    private mutating func launch(
        _ request: WorkRequest<F>, _ intentID: IntentID, _ started: inout [Start],
        _ leaving: inout LeavingWork
    ) {
        let token = newToken()
        if let id = request.id {
            switch request.policy {
            case .parallel: break
            case .keepPrevious: if active[id] != nil { return }
            case .cancelPrevious: cancelAll(id, &leaving)
            case .queue:
                if active[id] != nil {
                    queues[id, default: []].append(Waiting(token: token, request: request, intentID: intentID))
                    queuedCount += 1
                    count(request, intentID)
                    return
                }
            }
        }
        count(request, intentID)
        start(token, request, intentID, &started)
    }

    private mutating func start(
        _ token: WorkToken, _ request: WorkRequest<F>, _ intentID: IntentID, window: WorkID? = nil,
        _ started: inout [Start]
    ) {
        running[token] = Running(request: request, intentID: intentID, window: window, task: nil)
        if let id = request.id { active[id, default: []].append(token) }
        started.append(Start(token: token, intentID: intentID, operation: request.operation))
    }

    private mutating func throttle(
        _ interval: Duration, _ request: WorkRequest<F>, _ intentID: IntentID, _ started: inout [Start],
        _ leaving: inout LeavingWork
    ) {
        guard let id = request.id, throttled[id] == nil else { return }
        let window = WorkRequest<F>(id: nil, policy: .parallel, isCounted: false) { work in
            try await work.sleep(for: interval)
        }
        let token = newToken()
        throttled[id] = token
        start(token, window, intentID, window: id, &started)
        launch(request, intentID, &started, &leaving)
    }

    private mutating func cancelAll(_ id: WorkID, _ leaving: inout LeavingWork) {
        for waiting in queues.removeValue(forKey: id) ?? [] {
            settling.uncount(waiting.request.isCounted, waiting.intentID)
            leaving.add(waiting.request)
            queuedCount -= 1
        }
        for token in active.removeValue(forKey: id) ?? [] {
            guard let entry = running.removeValue(forKey: token) else { continue }
            settling.uncount(entry.request.isCounted, entry.intentID)
            leaving.add(entry.request, entry.task)
        }
        if let window = throttled.removeValue(forKey: id), let entry = running.removeValue(forKey: window) {
            leaving.add(entry.request, entry.task)
        }
    }

    private mutating func newToken() -> WorkToken {
        lastToken += 1
        return WorkToken(number: lastToken)
    }

    /// Remembers the task of work that was started; false if the work was cancelled, or ended, before it had one.
    mutating func attach(_ task: Task<Void, Never>, to token: WorkToken) -> Bool {
        guard running[token] != nil else { return false }
        running[token]?.task = task
        return true
    }

    /// Work has ended by itself: its id is free, and the next in its queue starts.
    mutating func ended(
        _ token: WorkToken, started: inout [Start], leaving: inout LeavingWork
    ) -> [@Sendable () -> Void] {
        guard let entry = running.removeValue(forKey: token) else { return takeSettled() }
        leaving.add(entry.request, entry.task)
        if let id = entry.window { throttled[id] = nil }
        if let id = entry.request.id { free(id, of: token, started: &started) }
        settling.uncount(entry.request.isCounted, entry.intentID)
        return takeSettled()
    }

    private mutating func free(_ id: WorkID, of token: WorkToken, started: inout [Start]) {
        if let index = active[id]?.firstIndex(of: token) { active[id]?.remove(at: index) }
        guard active[id]?.isEmpty == true else { return }
        active[id] = nil
        guard var queue = queues[id] else { return }
        let next = queue.removeFirst()
        queues[id] = queue.isEmpty ? nil : queue
        queuedCount -= 1
        start(next.token, next.request, next.intentID, &started)
    }

    // MARK: Settling

    @inlinable var isAllSettled: Bool { settling.isEmpty }

    @inlinable var mayHaveSettled: Bool { settling.hasCandidates }

    @usableFromInline
    func isSettled(_ intentID: IntentID) -> Bool { settling.isSettled(intentID) }

    private mutating func count(_ request: WorkRequest<F>, _ intentID: IntentID) {
        if request.isCounted { settling.count(intentID) }
    }

    mutating func wait(for intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        settling.wait(for: intentID, id: id, action)
    }

    /// Returns what was to be called, so that it dies after the lock.
    mutating func stopWaiting(for intentID: IntentID, id: UInt64) -> [@Sendable () -> Void] {
        settling.stopWaiting(for: intentID, id: id)
    }

    /// The waiters whose intent has no work left.
    @usableFromInline mutating func takeSettled() -> [@Sendable () -> Void] { settling.takeSettled() }

    // MARK: Watching

    mutating func beginWatching(started: inout [Start], leaving: inout LeavingWork) {
        for (request, intentID) in watching.begin(graces: &leaving.tasks) {
            launch(request, intentID, &started, &leaving)
        }
    }

    /// The grace periods that begin now, each with the id of its work.
    mutating func endWatching() -> (generation: UInt64, graces: [WorkID: Duration]) { watching.end() }

    mutating func attachGrace(_ task: Task<Void, Never>, generation: UInt64) -> Bool {
        watching.attach(task, generation: generation)
    }

    /// A grace period is over: the work to cancel, unless somebody came back.
    mutating func graceEnded(_ id: WorkID, generation: UInt64) -> LeavingWork {
        var leaving = LeavingWork()
        if watching.isOver(generation) { cancelAll(id, &leaving) }
        return leaving
    }

    // MARK: The end

    mutating func removeAll() -> (leaving: LeavingWork, waiters: [@Sendable () -> Void]) {
        let leaving = LeavingWork(
            tasks: running.values.compactMap { $0.task } + watching.graces,
            values: running.values.map { $0.request } + queues.values.joined().map { $0.request } + watching.requests)
        let waiters = settling.removeAll()
        self = WorkTable()
        return (leaving, waiters)
    }
}
