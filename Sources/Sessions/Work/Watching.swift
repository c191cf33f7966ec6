import MVI

/// Who watches a store is only counted; what runs meanwhile is registered here, in the order in which that was done.
struct Watching {
    private struct Registered {
        let id: WorkID
        let grace: Duration
        let request: WorkRequest
        let isOfBootstrap: Bool
        /// Whether it began for the watchers of now, or of a grace period that is not over: then it does not begin again.
        var isBegun = false
    }

    private var registered: [Registered] = []
    private(set) var watchers: Int
    /// Grows with each arrival of a first watcher, so that an old grace period knows it is void.
    private var generation: UInt64 = 0
    /// The grace periods of this generation.
    private(set) var graces: [Task<Void, Never>] = []

    init(watchers: Int = 0) { self.watchers = watchers }

    var isWatched: Bool { watchers > 0 }

    /// Whether the next life's bootstrap registers all of it again.
    var isAllOfBootstrap: Bool { registered.allSatisfy { $0.isOfBootstrap } }

    /// Registers work; says whether it begins now. Returns what was registered under that id before, so that it dies after the
    /// lock.
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

    /// Returns what was registered, so that it dies after the lock.
    mutating func forget(_ id: WorkID) -> WorkRequest? {
        registered.firstIndex { $0.id == id }.map { registered.remove(at: $0).request }
    }

    /// The same with all that parts registered.
    mutating func forget(workOf parts: Set<PartName>) -> [WorkRequest] {
        let isMeant = { (work: Registered) in work.request.part.map(parts.contains) ?? false }
        let forgotten = registered.filter(isMeant)
        registered.removeAll(where: isMeant)
        return forgotten.map(\.request)
    }

    /// One more watcher: what to launch if it is the first, and the grace periods to call off.
    mutating func begin(graces cancelled: inout [Task<Void, Never>]) -> [WorkRequest] {
        watchers += 1
        guard watchers == 1 else { return [] }
        generation += 1
        cancelled += graces
        graces = []
        return beginAll(where: { !$0.isBegun })
    }

    /// What to launch if work runs again that was held back.
    mutating func resume() -> [WorkRequest] { isWatched ? beginAll(where: { _ in true }) : [] }

    private mutating func beginAll(where isMeant: (Registered) -> Bool) -> [WorkRequest] {
        let meant = registered.indices.filter { isMeant(registered[$0]) }
        for index in meant { registered[index].isBegun = true }
        return meant.map { registered[$0].request }
    }

    /// One watcher less: the grace periods that begin if it was the last. One that never began is ignored.
    mutating func end() -> (generation: UInt64, graces: [(id: WorkID, time: Duration)]) {
        guard watchers > 0 else { return (generation, []) }
        watchers -= 1
        return (generation, watchers == 0 ? registered.map { ($0.id, $0.grace) } : [])
    }

    /// Keeps the task of a grace period; false if a watcher came back meanwhile.
    mutating func attach(_ task: Task<Void, Never>, generation: UInt64) -> Bool {
        guard isOver(generation) else { return false }
        graces.append(task)
        return true
    }

    /// Whether no watcher has come back since.
    private func isOver(_ generation: UInt64) -> Bool { watchers == 0 && self.generation == generation }

    /// A grace period is over; false if a watcher came back meanwhile. Else the work begins again with the next one.
    mutating func graceOver(_ id: WorkID, _ generation: UInt64) -> Bool {
        guard isOver(generation) else { return false }
        if let index = registered.firstIndex(where: { $0.id == id }) { registered[index].isBegun = false }
        return true
    }
}
