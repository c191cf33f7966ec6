import Locking
import MVI
import SessionJournal

/// What tells a stream's connection that there may be something to write.
public protocol StreamWaker: AnyObject, Sendable {
    /// Called from any thread, never under a lock; must not block.
    func wake()
}

/// What a stream shows.
public enum StreamFilter: Sendable, Equatable {
    /// Every store that the session has, and those it makes later.
    case all
    /// These, each once.
    case features([FeatureID])

    func shows(_ feature: FeatureID) -> Bool {
        switch self {
        case .all: true
        case .features(let features): features.contains(feature)
        }
    }
}

/// A session's open streams, in the order of their numbers, which is that in which they were opened.
struct StreamTable {
    private var streams: [StreamState] = []
    /// What one of several streams was told last, for the others.
    var lastStep: SharedStep?

    var count: Int { streams.count }
    var isEmpty: Bool { streams.isEmpty }
    var indices: Range<Int> { streams.indices }

    subscript(index: Int) -> StreamState {
        _read { yield streams[index] }
        _modify { yield &streams[index] }
    }

    /// Where a stream is, by bisection: a session may have very many.
    func index(of number: UInt64) -> Int? {
        let index = place(of: number)
        return index < streams.count && streams[index].number == number ? index : nil
    }

    /// Where a stream of that number is or belongs.
    private func place(of number: UInt64) -> Int {
        var (low, high) = (0, streams.count)
        while low < high {
            let middle = (low + high) / 2
            if streams[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The streams' numbers.
    var numbers: [UInt64] { streams.map(\.number) }

    /// Mostly the last; not where two are opened at once.
    mutating func add(_ stream: StreamState) { streams.insert(stream, at: place(of: stream.number)) }

    mutating func remove(_ number: UInt64) -> StreamState? { index(of: number).map { streams.remove(at: $0) } }

    /// Changes the streams that show a feature, and has their connections told.
    mutating func change(showing feature: FeatureID, _ body: (inout StreamState) -> Void) {
        for index in streams.indices where streams[index].shows(feature) {
            body(&streams[index])
            streams[index].hasNews = true
        }
    }

    /// A store's view state is to be shown; the first turn that changed it had the number `since`.
    mutating func markDirty(_ feature: FeatureID, since: UInt64) {
        lastStep = nil
        change(showing: feature) { $0.markDirty(feature, since: since) }
    }

    /// A store is gone.
    mutating func ended(_ feature: FeatureID) { change(showing: feature) { $0.storeEnded(feature) } }

    mutating func finish(_ reason: GoAwayReason) {
        for index in streams.indices {
            streams[index].finish(reason)
            streams[index].hasNews = true
        }
    }

    /// The log is another one.
    mutating func reset(_ reason: ResetReason) {
        lastStep = nil
        for index in streams.indices {
            streams[index].reset = (reason, true)
            streams[index].nextLabel = 0
            streams[index].handedOut = []
            streams[index].hasNews = true
        }
    }

    /// Makes room for one more stream: the oldest are told to go. Those without a connection yet are told when it comes.
    mutating func supersede(limit: Int) {
        var staying = streams.count { $0.goAway == nil && !$0.isOver }
        for index in streams.indices where staying >= limit {
            guard streams[index].goAway == nil, !streams[index].isOver else { continue }
            streams[index].finish(.superseded)
            streams[index].hasNews = true
            staying -= 1
        }
    }

    /// The streams that have news since the last call.
    mutating func takeWakers() -> ShortList<any StreamWaker> {
        var wakers: ShortList<any StreamWaker> = []
        for index in streams.indices where streams[index].hasNews {
            streams[index].hasNews = false
            if let waker = streams[index].waker { wakers.append(waker) }
        }
        return wakers
    }

    func isShown(_ feature: FeatureID) -> Bool { streams.contains { $0.shows(feature) && !$0.isOver } }

    /// The numbers of the streams that show the feature.
    func showing(_ feature: FeatureID) -> [UInt64] { streams.filter { $0.shows(feature) }.map(\.number) }

    /// Notes that a stream watches a store; false if the stream is closed.
    mutating func watches(_ number: UInt64, _ store: SessionStore) -> Bool {
        guard let index = index(of: number) else { return false }
        streams[index].watches(store)
        return true
    }
}

/// A stream's place in its session: a position in the outbox, and the features whose newest state it has not shown.
/// It holds no copies of either, so a slow client costs no memory.
struct StreamState {
    /// A feature whose newest view state the stream has not shown.
    struct Dirty: Equatable {
        let feature: FeatureID
        /// The number of the first turn that the stream has not shown: labels of it and later ones wait.
        let since: UInt64
    }

    let number: UInt64
    let filter: StreamFilter
    let startedResumed: Bool
    /// Labels of turns up to this one are replays.
    let replayThrough: UInt64
    /// The place of the next label to look at.
    var nextLabel: UInt64
    /// The places of the labels handed out last, which the socket may not have taken yet.
    var handedOut: [UInt64] = []
    /// Whether the event that labels are lost was handed out last.
    var handedOutLoss = false
    /// In the order in which they changed first.
    var dirty: ShortList<Dirty> = []
    /// Features that it would show, had this build their stores; and the number of the first turn of which a label is
    /// held back therefore. No cursor passes that: a stream of another build will show it.
    var leftOut: ShortList<FeatureID> = []
    var heldFrom = UInt64.max
    /// Features whose store is gone, to be told.
    var ended: [FeatureID] = []
    var reset: (reason: ResetReason, labelsLost: Bool)?
    /// What comes before anything else.
    var opening: [UInt8] = []
    var goAway: GoAwayReason?
    var isOver = false
    var waker: (any StreamWaker)?
    /// Whether its connection is to be told.
    var hasNews = false
    /// The stores that are told when the stream closes.
    var watched: ShortList<SessionStore> = []

    func shows(_ feature: FeatureID) -> Bool { filter.shows(feature) }

    /// Whether it has nothing to tell but states and labels.
    var isAtRest: Bool { opening.isEmpty && reset == nil && ended.isEmpty && goAway == nil }

    /// A store's view state cannot be had here: nothing waits for it.
    mutating func leaveOut(_ feature: FeatureID) {
        dirty.removeAll { $0.feature == feature }
        if !leftOut.contains(feature) { leftOut.append(feature) }
    }

    mutating func markDirty(_ feature: FeatureID, since: UInt64) {
        if !leftOut.isEmpty { leftOut.removeAll { $0 == feature } }
        if !dirty.contains(where: { $0.feature == feature }) { dirty.append(Dirty(feature: feature, since: since)) }
    }

    mutating func watches(_ store: SessionStore) {
        watched.removeAll { $0.feature == store.feature }
        watched.append(store)
    }

    /// How many `end`s may wait for a client that does not read; one more and the stream goes.
    private static let endLimit = 256

    mutating func storeEnded(_ feature: FeatureID) {
        dirty.removeAll { $0.feature == feature }
        watched.removeAll { $0.feature == feature }
        guard !ended.contains(feature) else { return }
        if ended.count >= Self.endLimit {
            finish(.busy)
        } else {
            ended.append(feature)
        }
    }

    /// A label is gone from the outbox: if it was still owed, the client must hear of it.
    mutating func dropped(_ place: UInt64) {
        guard place >= nextLabel else { return }
        nextLabel = place + 1
        reset = (.overflow, true)
    }

    mutating func finish(_ reason: GoAwayReason) {
        if goAway == nil, !isOver { goAway = reason }
    }
}
