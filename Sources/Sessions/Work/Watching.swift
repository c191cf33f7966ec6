import MVI

/// Who watches a store is only counted; what runs meanwhile is registered here.
struct Watching {
    private var registered: [WorkID: (grace: Duration, request: WorkRequest, isOfBootstrap: Bool)] = [:]
    private(set) var watchers: Int
    /// Grows with each arrival of a first watcher, so that an old grace period knows it is void.
    private var generation: UInt64 = 0
    /// The grace periods of this generation.
    private(set) var graces: [Task<Void, Never>] = []

    init(watchers: Int = 0) { self.watchers = watchers }

    var isWatched: Bool { watchers > 0 }

    /// Whether the next life's bootstrap registers all of it again.
    var isAllOfBootstrap: Bool { registered.values.allSatisfy { $0.isOfBootstrap } }

    /// Returns what was registered under that id before, so that it dies after the lock.
    mutating func register(
        _ request: WorkRequest, id: WorkID, grace: Duration, isOfBootstrap: Bool
    ) -> WorkRequest? {
        registered.updateValue((grace, request, isOfBootstrap), forKey: id)?.request
    }

    var count: Int { registered.count }

    var requests: [WorkRequest] { registered.values.map { $0.request } }

    /// Returns what was registered, so that it dies after the lock.
    mutating func forget(_ id: WorkID) -> WorkRequest? { registered.removeValue(forKey: id)?.request }

    /// One more watcher: what to launch if it is the first, and the grace periods to call off.
    mutating func begin(graces cancelled: inout [Task<Void, Never>]) -> [WorkRequest] {
        watchers += 1
        guard watchers == 1 else { return [] }
        generation += 1
        cancelled += graces
        graces = []
        return requests
    }

    /// One watcher less: the grace periods that begin if it was the last. One that never began is ignored.
    mutating func end() -> (generation: UInt64, graces: [WorkID: Duration]) {
        guard watchers > 0 else { return (generation, [:]) }
        watchers -= 1
        return (generation, watchers == 0 ? registered.mapValues { $0.grace } : [:])
    }

    /// Keeps the task of a grace period; false if a watcher came back meanwhile.
    mutating func attach(_ task: Task<Void, Never>, generation: UInt64) -> Bool {
        guard isOver(generation) else { return false }
        graces.append(task)
        return true
    }

    /// Whether no watcher has come back since.
    func isOver(_ generation: UInt64) -> Bool { watchers == 0 && self.generation == generation }
}
