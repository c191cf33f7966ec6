/// Names one piece of launched work, inside its store.
@usableFromInline
package struct WorkToken: Hashable, Sendable {
    let number: UInt64
}

/// Work to be started.
struct WorkStart: Sendable {
    let token: WorkToken
    let request: WorkRequest
}

/// Which work runs, waits or is registered, and for which intent. A pure state machine: it says what to start and to
/// cancel, the store's scope does it after its lock.
struct WorkTable {
    private struct Running {
        let request: WorkRequest
        /// For the interval of a `throttle`, which is not work of the author's: the id that it holds back.
        var window: WorkID?
        /// Nil between the decision to start and the task's existence.
        var task: Task<Void, Never>?
    }

    private var lastToken: UInt64 = 0
    private var running: [WorkToken: Running] = [:]
    /// Work that was cancelled and has not ended: it may not listen.
    private var cancelled: Set<WorkToken> = []
    /// The running work of each id.
    private var active: [WorkID: [WorkToken]] = [:]
    private var queues: [WorkID: [WorkStart]] = [:]
    private var queuedCount = 0
    /// Throttled ids whose interval has not passed.
    private var throttled: [WorkID: WorkToken] = [:]
    var watching = Watching()
    var settling = Settling()

    var runningCount: Int { running.count }

    /// Pieces of work that run, cancelled or not, wait in a queue, hold back others or are registered for watchers.
    var count: Int { running.count + cancelled.count + queuedCount + watching.count }

    /// The names of the author's work that runs.
    var inProgress: [String] {
        running.filter { $0.value.window == nil }
            .sorted { $0.key.number < $1.key.number }
            .map { $0.value.request.id?.name ?? "work without an id" }
    }

    /// Whether nothing runs, waits or is waited for, and nothing is registered that bootstrap would not register again.
    var isDormant: Bool {
        running.isEmpty && cancelled.isEmpty && queues.isEmpty && !settling.hasWaiters && !watching.isWatched
            && watching.isAllOfBootstrap
    }

    /// Whether what the work dispatches is still taken, in a batch whose earlier turns cancel those ids.
    func isLive(_ token: WorkToken, unless cancelled: Set<WorkID> = []) -> Bool {
        guard let entry = running[token] else { return false }
        guard !cancelled.isEmpty, let id = entry.request.id else { return true }
        return !cancelled.contains(id)
    }

    func id(of token: WorkToken) -> WorkID? { running[token]?.request.id }

    /// Applies effects to a copy that is used for nothing else; returns how many pieces they start. What they cancel
    /// counts no more: it gets the time to end.
    mutating func simulate(_ effects: [Effect]) -> Int {
        var change = WorkChange()
        let before = cancelled
        apply(effects, isBootstrap: false, &change)
        cancelled = before
        return change.started.count
    }

    mutating func apply(_ effects: [Effect], isBootstrap: Bool, _ change: inout WorkChange) {
        for effect in effects {
            switch effect {
            case .launch(let request): launch(request, &change)
            case .throttle(let interval, let request): throttle(interval, request, &change)
            case .whileWatched(let grace, let request):
                guard let id = request.id else { break }
                let before = watching.register(request, id: id, grace: grace, isOfBootstrap: isBootstrap)
                if let before { change.released.append(before) }
                if watching.isWatched { launch(request, &change) }
            case .cancel(let id):
                if let request = watching.forget(id) { change.released.append(request) }
                cancelAll(id, &change)
            }
        }
    }

    private mutating func launch(_ request: WorkRequest, _ change: inout WorkChange) {
        let token = newToken()
        let isActive = request.id.map { active[$0] != nil } ?? false
        if isActive, request.policy == .keepPrevious { return }
        if request.policy == .cancelPrevious, let id = request.id { cancelAll(id, &change) }
        settling.count(request)
        let work = WorkStart(token: token, request: request)
        if isActive, request.policy == .queue, let id = request.id {
            queues[id, default: []].append(work)
            queuedCount += 1
        } else {
            start(work, &change)
        }
    }

    private mutating func start(_ work: WorkStart, window: WorkID? = nil, _ change: inout WorkChange) {
        running[work.token] = Running(request: work.request, window: window)
        if let id = work.request.id { active[id, default: []].append(work.token) }
        change.started.append(work)
    }

    private mutating func throttle(_ interval: Duration, _ request: WorkRequest, _ change: inout WorkChange) {
        guard let id = request.id, throttled[id] == nil else { return }
        let window = WorkRequest(intentID: request.intentID, id: nil, policy: .parallel, isCounted: false) { context in
            try await context.sleep(for: interval)
        }
        let token = newToken()
        throttled[id] = token
        start(WorkStart(token: token, request: window), window: id, &change)
        launch(request, &change)
    }

    mutating func cancelAll(_ id: WorkID, _ change: inout WorkChange) {
        for waiting in queues.removeValue(forKey: id) ?? [] {
            settling.uncount(waiting.request)
            change.released.append(waiting.request)
            queuedCount -= 1
        }
        let window = throttled.removeValue(forKey: id).map { [$0] } ?? []
        for token in (active.removeValue(forKey: id) ?? []) + window {
            guard let entry = running.removeValue(forKey: token) else { continue }
            settling.uncount(entry.request)
            change.released.append(entry.request)
            if let task = entry.task { change.cancelled.append(task) }
            cancelled.insert(token)
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

    /// Work has ended: its id is free, and the next in its queue starts.
    mutating func ended(_ token: WorkToken, _ change: inout WorkChange) {
        guard let entry = running.removeValue(forKey: token) else {
            cancelled.remove(token)
            return
        }
        change.released.append(entry.request)
        if let id = entry.window { throttled[id] = nil }
        if let id = entry.request.id { free(id, of: token, &change) }
        settling.uncount(entry.request)
    }

    private mutating func free(_ id: WorkID, of token: WorkToken, _ change: inout WorkChange) {
        if let index = active[id]?.firstIndex(of: token) { active[id]?.remove(at: index) }
        guard active[id]?.isEmpty == true else { return }
        active[id] = nil
        guard var queue = queues[id] else { return }
        let next = queue.removeFirst()
        queues[id] = queue.isEmpty ? nil : queue
        queuedCount -= 1
        start(next, &change)
    }

    /// One more watcher.
    mutating func beginWatching(_ change: inout WorkChange) {
        for request in watching.begin(graces: &change.cancelled) { launch(request, &change) }
    }

    /// The end of all work. What does not listen runs on.
    mutating func removeAll(_ change: inout WorkChange) {
        change.cancelled += running.values.compactMap { $0.task } + watching.graces
        change.released +=
            running.values.map { $0.request } + queues.values.joined().map { $0.request } + watching.requests
        change.settled += settling.remove { _, _ in true }
        let cancelled = cancelled.union(running.keys)
        self = WorkTable()
        self.cancelled = cancelled
    }
}
