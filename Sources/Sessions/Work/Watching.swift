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

    /// Those for whom a kind of work runs.
    private struct Users {
        /// Increases with each first user, so that an old grace period is recognized as void.
        var generation: UInt64 = 0
        /// The grace periods of this generation.
        var graces: [Task<Void, Never>] = []

        mutating func begin(_ cancelled: inout [Task<Void, Never>]) {
            generation += 1
            cancelled += graces
            graces = []
        }
    }

    private var registered: [Registered] = []
    private(set) var watchers: Int
    /// The number of requests and turns that read the store: observations run for them, too.
    private(set) var readers: Int
    private var watched = Users()
    private var observed = Users()

    init(watchers: Int = 0, readers: Int = 0) { (self.watchers, self.readers) = (watchers, readers) }

    var isWatched: Bool { watchers > 0 }
    /// True if there is a watcher or a reader.
    var isUsed: Bool { watchers + readers > 0 }

    /// True if the next bootstrap registers all of it again.
    var isAllOfBootstrap: Bool { registered.allSatisfy { $0.isOfBootstrap } }

    /// True if an observation is registered that does not run: it begins with the next watcher or reader.
    var hasIdleObservation: Bool { registered.contains { $0.request.isObservation && !$0.isBegun } }

    var hasObservation: Bool { registered.contains { $0.request.isObservation } }

    private func hasUsers(_ request: WorkRequest) -> Bool { request.isObservation ? isUsed : isWatched }

    /// Registers work, and returns whether it begins now. Also returns the work registered under that id before, to
    /// release it after the lock.
    mutating func register(
        _ request: WorkRequest, id: WorkID, grace: Duration, isOfBootstrap: Bool
    ) -> (before: WorkRequest?, begins: Bool) {
        var new = Registered(
            id: id, grace: grace, request: request, isOfBootstrap: isOfBootstrap, isBegun: hasUsers(request))
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

    var graces: [Task<Void, Never>] { watched.graces + observed.graces }

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
        watched.begin(&cancelled)
        if readers == 0 { observed.begin(&cancelled) }
        return beginAll(where: { !$0.isBegun })
    }

    /// Adds a reader. Returns the observations to launch if nothing else uses the store, and the grace periods to cancel.
    mutating func beginReading(graces cancelled: inout [Task<Void, Never>]) -> [WorkRequest] {
        readers += 1
        guard readers == 1, watchers == 0 else { return [] }
        observed.begin(&cancelled)
        return beginAll(where: { !$0.isBegun && $0.request.isObservation })
    }

    /// Returns the work to launch after a pause.
    mutating func resume() -> [WorkRequest] {
        let (isWatched, isUsed) = (isWatched, isUsed)
        return beginAll(where: { $0.request.isObservation ? isUsed : isWatched })
    }

    private mutating func beginAll(where isMeant: (Registered) -> Bool) -> [WorkRequest] {
        let meant = registered.indices.filter { isMeant(registered[$0]) }
        for index in meant { registered[index].isBegun = true }
        return meant.map { registered[$0].request }
    }

    /// A grace period that begins.
    struct Grace: Sendable {
        let id: WorkID
        let time: Duration
        fileprivate let isOfObservation: Bool
        fileprivate let generation: UInt64
    }

    /// Removes a watcher. Returns the grace periods that begin if it was the last. An extra call is ignored.
    mutating func end() -> [Grace] {
        guard watchers > 0 else { return [] }
        watchers -= 1
        return watchers == 0 ? begin { readers == 0 || !$0.request.isObservation } : []
    }

    /// The shortest grace period after a reader: a turn that reads several stores waits for each in turn.
    static let readerGrace: Duration = .seconds(1)

    /// Removes a reader. Returns the grace periods that begin if nothing else uses the store.
    mutating func endReading() -> [Grace] {
        guard readers > 0 else { return [] }
        readers -= 1
        return readers + watchers == 0 ? begin(atLeast: Self.readerGrace) { $0.request.isObservation } : []
    }

    private func begin(atLeast least: Duration = .zero, of isMeant: (Registered) -> Bool) -> [Grace] {
        registered.filter(isMeant).map { work in
            let isOfObservation = work.request.isObservation
            return Grace(
                id: work.id, time: max(work.grace, least), isOfObservation: isOfObservation,
                generation: isOfObservation ? observed.generation : watched.generation)
        }
    }

    /// Stores the task of a grace period. Returns false if a user came back meanwhile.
    mutating func attach(_ task: Task<Void, Never>, to grace: Grace) -> Bool {
        guard isOver(grace) else { return false }
        if grace.isOfObservation { observed.graces.append(task) } else { watched.graces.append(task) }
        return true
    }

    /// True if no user has come back since.
    private func isOver(_ grace: Grace) -> Bool {
        grace.isOfObservation
            ? !isUsed && observed.generation == grace.generation
            : !isWatched && watched.generation == grace.generation
    }

    /// Ends a grace period. Returns false if a user came back; otherwise the next one begins the work again.
    mutating func end(_ grace: Grace) -> Bool {
        guard isOver(grace) else { return false }
        if let index = registered.firstIndex(where: { $0.id == grace.id }) { registered[index].isBegun = false }
        return true
    }
}
