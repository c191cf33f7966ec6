import MVI

/// The number of a store's watchers, and the work to run for them, in the order of its registration.
struct Watching {
    private struct Registered {
        let id: WorkID
        let grace: Duration
        let request: WorkRequest
        let isOfBootstrap: Bool
        /// True if it began for the present watchers or a current grace period: then it does not begin again.
        var isBegun = false
    }

    private var registered: [Registered] = []
    private(set) var watchers: Int
    /// Increases with each first watcher, so that an old grace period is recognized as void.
    private var generation: UInt64 = 0
    /// The grace periods of this generation.
    private(set) var graces: [Task<Void, Never>] = []

    init(watchers: Int = 0) { self.watchers = watchers }

    var isWatched: Bool { watchers > 0 }

    /// True if the next bootstrap registers all of it again.
    var isAllOfBootstrap: Bool { registered.allSatisfy { $0.isOfBootstrap } }

    /// Registers work, and returns whether it begins now. Also returns the work registered under that id before, to
    /// release it after the lock.
    mutating func register(
        _ request: WorkRequest, id: WorkID, grace: Duration, isOfBootstrap: Bool
    ) -> (before: WorkRequest?, begins: Bool) {
        var new = Registered(id: id, grace: grace, request: request, isOfBootstrap: isOfBootstrap, isBegun: isWatched)
        guard let index = registered.firstIndex(where: { $0.id == id }) else {
            registered.append(new)
            return (nil, new.isBegun)
        }
        let before = registered[index]
        new.isBegun = new.isBegun || before.isBegun
        registered[index] = new
        return (before.request, new.isBegun)
    }

    var count: Int { registered.count }

    var requests: [WorkRequest] { registered.map(\.request) }

    /// Removes and returns the registered work, to release it after the lock.
    mutating func forget(_ id: WorkID) -> WorkRequest? {
        registered.firstIndex { $0.id == id }.map { registered.remove(at: $0).request }
    }

    /// The same for all work of parts.
    mutating func forget(workOf parts: Set<PartName>) -> [WorkRequest] {
        let isMeant = { (work: Registered) in work.request.part.map(parts.contains) ?? false }
        let forgotten = registered.filter(isMeant)
        registered.removeAll(where: isMeant)
        return forgotten.map(\.request)
    }

    /// Adds a watcher. Returns the work to launch if it is the first, and the grace periods to cancel.
    mutating func begin(graces cancelled: inout [Task<Void, Never>]) -> [WorkRequest] {
        watchers += 1
        guard watchers == 1 else { return [] }
        generation += 1
        cancelled += graces
        graces = []
        return beginAll(where: { !$0.isBegun })
    }

    /// Returns the work to launch after a pause.
    mutating func resume() -> [WorkRequest] { isWatched ? beginAll(where: { _ in true }) : [] }

    private mutating func beginAll(where isMeant: (Registered) -> Bool) -> [WorkRequest] {
        let meant = registered.indices.filter { isMeant(registered[$0]) }
        for index in meant { registered[index].isBegun = true }
        return meant.map { registered[$0].request }
    }

    /// Removes a watcher. Returns the grace periods that begin if it was the last. An extra call is ignored.
    mutating func end() -> (generation: UInt64, graces: [(id: WorkID, time: Duration)]) {
        guard watchers > 0 else { return (generation, []) }
        watchers -= 1
        return (generation, watchers == 0 ? registered.map { ($0.id, $0.grace) } : [])
    }

    /// Stores the task of a grace period. Returns false if a watcher came back meanwhile.
    mutating func attach(_ task: Task<Void, Never>, generation: UInt64) -> Bool {
        guard isOver(generation) else { return false }
        graces.append(task)
        return true
    }

    /// True if no watcher has come back since.
    private func isOver(_ generation: UInt64) -> Bool { watchers == 0 && self.generation == generation }

    /// Ends a grace period. Returns false if a watcher came back; otherwise the next one begins the work again.
    mutating func graceOver(_ id: WorkID, _ generation: UInt64) -> Bool {
        guard isOver(generation) else { return false }
        if let index = registered.firstIndex(where: { $0.id == id }) { registered[index].isBegun = false }
        return true
    }
}
