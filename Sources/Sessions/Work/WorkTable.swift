import MVI

/// Work to be started.
struct WorkStart: Sendable {
    let token: WorkToken
    let request: WorkRequest
}

/// The follow-up of a change of a store's work, after its lock.
struct WorkChange: Sendable {
    var started: [WorkStart] = []
    var cancelled: [Task<Void, Never>] = []
    /// Values of features: code may run when they are released.
    var released: [any Sendable] = []
    /// The counts of the intents that led to the work.
    var counts: [WorkCount] = []

    mutating func count(_ request: WorkRequest, _ difference: Int) {
        let origin = request.origin
        if origin.isCounted { counts.append(WorkCount(intentID: origin.intentID, difference: difference)) }
    }
}

/// The work that runs, waits or is registered, and its intents. A pure state machine: it returns the work to start and
/// to cancel, and the store does it after its lock.
struct WorkTable {
    private struct Running {
        let request: WorkRequest
        /// For the interval of a `throttle`, which is not the feature's work: the id that it holds back.
        var window: WorkID?
        /// Nil between the decision to start and the task's creation.
        var task: Task<Void, Never>?
    }

    /// The interval of a `throttle`.
    private struct Window {
        let token: WorkToken
        let interval: Duration
        /// The work that runs at its end.
        var latest: WorkRequest?
    }

    private var lastToken: UInt64 = 0
    private var running: [WorkToken: Running] = [:]
    /// Canceled work that has not ended: it may ignore the cancellation.
    private var cancelled: Set<WorkToken> = []
    /// The running work of each id.
    private var active: [WorkID: [WorkToken]] = [:]
    private var queues: [WorkID: [WorkStart]] = [:]
    private var queuedCount = 0
    /// Throttled ids whose interval has not passed.
    private var throttled: [WorkID: Window] = [:]
    private var heldBackCount = 0
    /// The running observations without a first result, and those that failed and have not begun again.
    private var awaited: Set<WorkToken> = []
    private var failed: Set<WorkID> = []
    var watching = Watching()
    /// True if nothing starts: the work is another process's now.
    private(set) var isPaused = false

    var runningCount: Int { running.count }

    /// The work that runs, canceled or not, waits in a queue, holds back others or is registered for watchers.
    var count: Int { running.count + cancelled.count + queuedCount + heldBackCount + watching.count }

    /// The names of the feature's work that runs, or is held back until the end of a `throttle`'s interval.
    var inProgress: [String] {
        running.filter { $0.value.window.map { throttled[$0]?.latest != nil } ?? true }
            .sorted { $0.key.number < $1.key.number }
            .map { ($0.value.window ?? $0.value.request.id)?.description ?? "work without an id" }
    }

    /// True if work of that id runs or waits.
    func isRunning(_ id: WorkID) -> Bool { active[id] != nil || throttled[id]?.latest != nil }

    /// The relation of a store to its observations.
    enum Freshness {
        case fresh
        /// A first result is to come, with the next reader if none has begun the observation.
        case awaited
        /// An observation failed.
        case stale
    }

    var freshness: Freshness {
        // While paused: another process runs them, or this one is about to.
        if !awaited.isEmpty || watching.hasIdleObservation || isPaused && watching.hasObservation { return .awaited }
        return failed.isEmpty ? .fresh : .stale
    }

    /// True if an observation runs that has no result yet.
    var hasAwaited: Bool { !awaited.isEmpty }

    /// Notes that an observation has a result.
    mutating func noteFirstResult(of token: WorkToken) { awaited.remove(token) }

    func isObservation(_ token: WorkToken) -> Bool { running[token]?.request.isObservation ?? false }

    /// True if nothing runs, waits or is waited for, and bootstrap would register all registered work again.
    var isDormant: Bool {
        running.isEmpty && cancelled.isEmpty && queues.isEmpty && !watching.isUsed
            && watching.isAllOfBootstrap
    }

    /// The same for a store whose watchers are not waited for: it does nothing for them.
    var isDormantThoughWatched: Bool {
        running.isEmpty && cancelled.isEmpty && queues.isEmpty && watching.count == 0
    }

    /// The intents whose counted work runs or waits.
    var countedIntents: Set<IntentID> {
        let requests = running.values.map(\.request) + queues.values.joined().map(\.request)
        return Set(requests.lazy.filter(\.origin.isCounted).map(\.origin.intentID))
    }

    /// The reasons why `isDormant` is false, for people; otherwise empty.
    var obstacles: [String] {
        var obstacles: [String] = []
        if !running.isEmpty {
            // The interval of a `throttle` has no name of its own.
            let names = running.sorted { $0.key.number < $1.key.number }.map { entry in
                entry.value.window.map { "the interval of \($0)" } ?? entry.value.request.id?.description
                    ?? "work without an id"
            }
            obstacles.append("work runs: \(names.joined(separator: ", "))")
        }
        if !cancelled.isEmpty { obstacles.append("canceled work has not ended") }
        if !queues.isEmpty { obstacles.append("work waits in a queue") }
        if watching.isWatched { obstacles.append("it is watched") }
        if watching.readers > 0 { obstacles.append("it is read") }
        if !watching.isAllOfBootstrap {
            obstacles.append("work is registered for watchers that bootstrap does not register again")
        }
        return obstacles
    }

    /// True if work runs, waits or is registered whose progress only this process knows.
    var isBusy: Bool { !running.isEmpty || queuedCount > 0 || !watching.isAllOfBootstrap }

    /// True if work would run for watchers or readers if it were not paused.
    var isHeldBack: Bool {
        isPaused && (watching.isWatched ? watching.count > 0 : watching.isUsed && watching.hasObservation)
    }

    /// True if dispatches of the work are still accepted, in a batch whose earlier turns ask for those effects.
    func isLive(_ token: WorkToken, after earlier: [Effect] = []) -> Bool {
        guard let entry = running[token] else { return false }
        return !earlier.contains { $0.cancels(entry.request) }
    }

    /// The parts that have work. Queued and held-back work waits behind work that runs.
    var parts: Set<PartName> {
        Set(running.values.lazy.compactMap(\.request.part)).union(watching.requests.lazy.compactMap(\.part))
    }

    func id(of token: WorkToken) -> WorkID? { running[token]?.request.id }

    /// True if work has ended by itself; false if it was canceled.
    func hasEnded(_ token: WorkToken) -> Bool { running[token] == nil && !cancelled.contains(token) }

    /// Applies effects to a copy that is used for nothing else. Returns the number of pieces that they start. Canceled
    /// work does not count: it gets the time to end.
    mutating func simulate(_ effects: [Effect]) -> Int {
        var change = WorkChange()
        let before = cancelled
        isPaused = false
        apply(effects, isBootstrap: false, &change)
        cancelled = before
        return change.started.count
    }

    mutating func apply(_ effects: some Sequence<Effect>, isBootstrap: Bool, _ change: inout WorkChange) {
        for effect in effects {
            switch effect {
            case .launch(let request): launch(request, &change)
            case .throttle(let interval, let latest, let request): throttle(interval, latest, request, &change)
            case .whileWatched(let grace, let request):
                watch(request, grace: grace, isOfBootstrap: isBootstrap, &change)
            case .cancel(let id):
                if let request = watching.forget(id) { change.released.append(request) }
                cancelAll(id, &change)
            case .cancelParts(let parts): cancelAll(of: parts, &change)
            }
        }
    }

    /// Cancels all work of parts, in the order in which it began, and removes their registrations for watchers.
    private mutating func cancelAll(of parts: Set<PartName>, _ change: inout WorkChange) {
        change.released += watching.forget(workOf: parts)
        failed = failed.filter { $0.part.map(parts.contains) != true }
        let ended = running.filter { $0.value.request.part.map(parts.contains) ?? false }
        for (token, entry) in ended.sorted(by: { $0.key.number < $1.key.number }) {
            if let id = entry.window ?? entry.request.id { cancelAll(id, &change) } else { cancel(token, &change) }
        }
    }

    private mutating func launch(_ request: WorkRequest, _ change: inout WorkChange) {
        if isPaused { return change.released.append(request) }
        let token = newToken()
        let isActive = request.id.map { active[$0] != nil } ?? false
        if isActive, request.policy == .keepPrevious { return }
        if request.policy == .cancelPrevious, let id = request.id { cancelAll(id, &change) }
        change.count(request, 1)
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
        if work.request.isObservation {
            awaited.insert(work.token)
            if let id = work.request.id { failed.remove(id) }
        }
        change.started.append(work)
    }

    private mutating func throttle(
        _ interval: Duration, _ latest: Bool, _ request: WorkRequest, _ change: inout WorkChange
    ) {
        guard let id = request.id else { return }
        if isPaused { return change.released.append(request) }
        if throttled[id] != nil {
            if latest { holdBack(request, id, interval, &change) }
            return
        }
        let origin = request.origin.uncounted
        let window = WorkRequest(origin: origin, id: nil, policy: .parallel, part: request.part) { context in
            try await context.sleep(for: interval)
        }
        let token = newToken()
        throttled[id] = Window(token: token, interval: interval)
        start(WorkStart(token: token, request: window), window: id, &change)
        launch(request, &change)
    }

    /// Holds a throttled call until the end of the interval, in place of an earlier one.
    private mutating func holdBack(
        _ request: WorkRequest, _ id: WorkID, _ interval: Duration, _ change: inout WorkChange
    ) {
        guard let window = throttled[id] else { return }
        giveUp(window.latest, &change)
        throttled[id] = Window(token: window.token, interval: interval, latest: request)
        change.count(request, 1)
        heldBackCount += 1
    }

    /// Drops a throttled call that waits.
    private mutating func giveUp(_ latest: WorkRequest?, _ change: inout WorkChange) {
        guard let latest else { return }
        change.count(latest, -1)
        heldBackCount -= 1
        change.released.append(latest)
    }

    /// Registers work for watchers, in place of all that runs under its id. If the earlier work ran for watchers, also
    /// in its grace period, the new work follows at once.
    private mutating func watch(
        _ request: WorkRequest, grace: Duration, isOfBootstrap: Bool, _ change: inout WorkChange
    ) {
        guard let id = request.id else { return }
        let (before, begins) = watching.register(request, id: id, grace: grace, isOfBootstrap: isOfBootstrap)
        if let before { change.released.append(before) }
        cancelAll(id, &change)
        if begins { launch(request, &change) }
    }

    mutating func cancelAll(_ id: WorkID, _ change: inout WorkChange) {
        if !failed.isEmpty { failed.remove(id) }
        for waiting in queues.removeValue(forKey: id) ?? [] {
            change.count(waiting.request, -1)
            change.released.append(waiting.request)
            queuedCount -= 1
        }
        let window = throttled.removeValue(forKey: id)
        giveUp(window?.latest, &change)
        for token in (active.removeValue(forKey: id) ?? []) + (window.map { [$0.token] } ?? []) {
            cancel(token, &change)
        }
    }

    private mutating func cancel(_ token: WorkToken, _ change: inout WorkChange) {
        guard let entry = running.removeValue(forKey: token) else { return }
        change.count(entry.request, -1)
        change.released.append(entry.request)
        if let task = entry.task { change.cancelled.append(task) }
        if entry.request.isObservation { awaited.remove(token) }
        cancelled.insert(token)
    }

    private mutating func newToken() -> WorkToken {
        lastToken += 1
        return WorkToken(number: lastToken)
    }

    /// Stores the task of started work. Returns false if the work was canceled, or ended, before.
    mutating func attach(_ task: Task<Void, Never>, to token: WorkToken) -> Bool {
        guard running[token] != nil else { return false }
        running[token]?.task = task
        return true
    }

    /// Ends work: its id is free, and the next in its queue starts.
    mutating func ended(_ token: WorkToken, hasFailed: Bool, _ change: inout WorkChange) {
        guard let entry = running.removeValue(forKey: token) else {
            cancelled.remove(token)
            return
        }
        if entry.request.isObservation {
            awaited.remove(token)
            if hasFailed, let id = entry.request.id { failed.insert(id) }
        }
        change.released.append(entry.request)
        if let id = entry.window, let window = throttled.removeValue(forKey: id), let latest = window.latest {
            giveUp(latest, &change)
            throttle(window.interval, true, latest, &change)
        }
        if let id = entry.request.id { free(id, of: token, &change) }
        change.count(entry.request, -1)
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

    /// Adds a watcher.
    mutating func beginWatching(_ change: inout WorkChange) {
        for request in watching.begin(graces: &change.cancelled) { launch(request, &change) }
    }

    /// Adds a reader, for which observations run.
    mutating func beginReading(_ change: inout WorkChange) {
        for request in watching.beginReading(graces: &change.cancelled) { launch(request, &change) }
    }

    /// Ends all work until `resume`. The watchers stay known; their registered work is removed, since bootstrap
    /// registers it anew.
    mutating func pause(_ change: inout WorkChange) {
        if isPaused, watching.count == 0 { return }
        let (token, watchers, readers) = (lastToken, watching.watchers, watching.readers)
        removeAll(&change)
        (lastToken, watching) = (token, Watching(watchers: watchers, readers: readers))
        isPaused = true
    }

    /// Starts no work until `resume`. If some runs, this ends it; otherwise registered work for watchers stays.
    mutating func hold(_ change: inout WorkChange) {
        if isBusy { return pause(&change) }
        isPaused = true
    }

    /// Resumes work: registered work starts if there are watchers.
    mutating func resume(_ change: inout WorkChange) {
        guard isPaused else { return }
        isPaused = false
        for request in watching.resume() { launch(request, &change) }
    }

    /// Ends all work. Work that ignores cancellation runs on.
    mutating func removeAll(_ change: inout WorkChange) {
        change.cancelled += running.values.compactMap { $0.task } + watching.graces
        let counted =
            running.values.map { $0.request } + queues.values.joined().map { $0.request }
            + throttled.values.compactMap { $0.latest }
        for request in counted { change.count(request, -1) }
        change.released += counted + watching.requests
        let cancelled = cancelled.union(running.keys)
        self = WorkTable()
        self.cancelled = cancelled
    }
}
