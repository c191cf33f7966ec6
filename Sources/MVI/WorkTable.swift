/// Names one piece of launched work, inside its store.
struct WorkToken: Hashable, Sendable {
    let number: UInt64
}

/// Which work runs, waits or is registered, and for which intent. A pure state machine: it says what to start and to
/// cancel, the store does it after its lock.
struct WorkTable<F: Feature> {
    /// Work to be started by the store.
    struct Start {
        let token: WorkToken
        let intentID: IntentID
        let operation: Turn<F>.Operation
    }

    private struct Running {
        let request: WorkRequest<F>
        let intentID: IntentID
        /// Nil between the decision to start and the task's existence.
        var task: Task<Void, Never>?
    }

    private struct Waiting {
        let token: WorkToken
        let request: WorkRequest<F>
        let intentID: IntentID
    }

    private struct Watched {
        let grace: Duration
        let request: WorkRequest<F>
        let intentID: IntentID
    }

    private var lastToken: UInt64 = 0
    private var running: [WorkToken: Running] = [:]
    private var queues: [WorkID: [Waiting]] = [:]
    /// Throttled ids whose interval has not passed.
    private var throttled: [WorkID: WorkToken] = [:]
    private var watched: [WorkID: Watched] = [:]
    private var watchers = 0
    /// Grows with each arrival of a first watcher, so that an old grace period knows it is void.
    private var watchGeneration: UInt64 = 0
    private var counted: [IntentID: Int] = [:]
    private var waiters: [IntentID: [SettleWaiter]] = [:]

    struct SettleWaiter {
        let id: UInt64
        let action: @Sendable () -> Void
    }

    var runningCount: Int { running.count }

    var inProgress: [String] {
        let windows = Set(throttled.values)
        return running.filter { !windows.contains($0.key) }
            .sorted { $0.key.number < $1.key.number }
            .map { $0.value.request.id?.name ?? "work without an id" }
    }

    func isLive(_ token: WorkToken) -> Bool { running[token] != nil }

    func id(of token: WorkToken) -> WorkID? { running[token]?.request.id }

    // MARK: Starting and cancelling

    mutating func apply(
        _ effects: [Effect<F>], intentID: IntentID, started: inout [Start], cancelled: inout [Task<Void, Never>]
    ) {
        for effect in effects {
            switch effect {
            case .launch(let request):
                launch(request, intentID, &started, &cancelled)
            case .throttle(let interval, let request):
                throttle(interval, request, intentID, &started, &cancelled)
            case .whileWatched(let grace, let request):
                guard let id = request.id else { break }
                watched[id] = Watched(grace: grace, request: request, intentID: intentID)
                if watchers > 0 { launch(request, intentID, &started, &cancelled) }
            case .cancel(let id):
                watched[id] = nil
                cancelAll(id, &cancelled)
            }
        }
    }

    private mutating func launch(
        _ request: WorkRequest<F>, _ intentID: IntentID, _ started: inout [Start],
        _ cancelled: inout [Task<Void, Never>]
    ) {
        if let id = request.id {
            switch request.policy {
            case .parallel: break
            case .keepPrevious: if isActive(id) { return }
            case .cancelPrevious: cancelAll(id, &cancelled)
            case .queue:
                if isActive(id) {
                    queues[id, default: []].append(
                        Waiting(token: newToken(), request: request, intentID: intentID))
                    count(request, intentID)
                    return
                }
            }
        }
        count(request, intentID)
        start(newToken(), request, intentID, &started)
    }

    private mutating func start(
        _ token: WorkToken, _ request: WorkRequest<F>, _ intentID: IntentID, _ started: inout [Start]
    ) {
        running[token] = Running(request: request, intentID: intentID, task: nil)
        started.append(Start(token: token, intentID: intentID, operation: request.operation))
    }

    private mutating func throttle(
        _ interval: Duration, _ request: WorkRequest<F>, _ intentID: IntentID, _ started: inout [Start],
        _ cancelled: inout [Task<Void, Never>]
    ) {
        guard let id = request.id, throttled[id] == nil else { return }
        let window = WorkRequest<F>(id: nil, policy: .parallel, isCounted: false) { work in
            try await work.sleep(for: interval)
        }
        let token = newToken()
        throttled[id] = token
        start(token, window, intentID, &started)
        launch(request, intentID, &started, &cancelled)
    }

    private mutating func cancelAll(_ id: WorkID, _ cancelled: inout [Task<Void, Never>]) {
        for waiting in queues.removeValue(forKey: id) ?? [] {
            uncount(waiting.request, waiting.intentID)
        }
        for (token, entry) in running where entry.request.id == id {
            running[token] = nil
            uncount(entry.request, entry.intentID)
            if let task = entry.task { cancelled.append(task) }
        }
        if let window = throttled.removeValue(forKey: id) {
            if let task = running.removeValue(forKey: window)?.task { cancelled.append(task) }
        }
    }

    private func isActive(_ id: WorkID) -> Bool { running.values.contains { $0.request.id == id } }

    private mutating func newToken() -> WorkToken {
        lastToken += 1
        return WorkToken(number: lastToken)
    }

    /// Remembers the task of work that was started; false if the work was cancelled before it had one.
    mutating func attach(_ task: Task<Void, Never>, to token: WorkToken) -> Bool {
        guard running[token] != nil else { return false }
        running[token]?.task = task
        return true
    }

    /// Work has ended by itself: its id is free, and the next in its queue starts.
    mutating func ended(_ token: WorkToken, started: inout [Start]) -> [@Sendable () -> Void] {
        guard let entry = running.removeValue(forKey: token) else { return takeSettled() }
        for (id, window) in throttled where window == token { throttled[id] = nil }
        if let id = entry.request.id, var queue = queues[id], !isActive(id) {
            let next = queue.removeFirst()
            queues[id] = queue.isEmpty ? nil : queue
            start(next.token, next.request, next.intentID, &started)
        }
        uncount(entry.request, entry.intentID)
        return takeSettled()
    }

    // MARK: Settling

    func isSettled(_ intentID: IntentID) -> Bool { counted[intentID] == nil }

    private mutating func count(_ request: WorkRequest<F>, _ intentID: IntentID) {
        if request.isCounted { counted[intentID, default: 0] += 1 }
    }

    private mutating func uncount(_ request: WorkRequest<F>, _ intentID: IntentID) {
        guard request.isCounted, let count = counted[intentID] else { return }
        counted[intentID] = count == 1 ? nil : count - 1
    }

    mutating func wait(for intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        guard counted[intentID] != nil else { return false }
        waiters[intentID, default: []].append(SettleWaiter(id: id, action: action))
        return true
    }

    mutating func stopWaiting(for intentID: IntentID, id: UInt64) {
        waiters[intentID]?.removeAll { $0.id == id }
        if waiters[intentID]?.isEmpty == true { waiters[intentID] = nil }
    }

    /// The waiters whose intent has no work left.
    mutating func takeSettled() -> [@Sendable () -> Void] {
        guard !waiters.isEmpty else { return [] }
        var actions: [@Sendable () -> Void] = []
        for intentID in waiters.keys where counted[intentID] == nil {
            actions += waiters.removeValue(forKey: intentID)?.map { $0.action } ?? []
        }
        return actions
    }

    // MARK: Watching

    mutating func beginWatching(started: inout [Start]) {
        watchers += 1
        guard watchers == 1 else { return }
        watchGeneration += 1
        var none: [Task<Void, Never>] = []
        for entry in watched.values { launch(entry.request, entry.intentID, &started, &none) }
    }

    /// The grace periods that begin now, each with the id of its work.
    mutating func endWatching() -> (generation: UInt64, graces: [WorkID: Duration]) {
        watchers -= 1
        guard watchers == 0 else { return (watchGeneration, [:]) }
        return (watchGeneration, watched.mapValues { $0.grace })
    }

    /// A grace period is over: the work to cancel, unless somebody came back.
    mutating func graceEnded(_ id: WorkID, generation: UInt64) -> [Task<Void, Never>] {
        var cancelled: [Task<Void, Never>] = []
        if watchers == 0, watchGeneration == generation { cancelAll(id, &cancelled) }
        return cancelled
    }

    var hasWatchedWork: Bool { !watched.isEmpty }

    // MARK: The end

    mutating func removeAll() -> (tasks: [Task<Void, Never>], waiters: [@Sendable () -> Void]) {
        let tasks = running.values.compactMap { $0.task }
        running = [:]
        queues = [:]
        throttled = [:]
        watched = [:]
        counted = [:]
        return (tasks, takeSettled())
    }
}
