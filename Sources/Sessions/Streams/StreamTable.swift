import Locking
import MVI
import SessionJournal

/// What tells a stream's connection that there may be something to write.
package protocol StreamWaker: AnyObject, Sendable {
    /// Called from any thread, never under a lock; must not block.
    func wake()
}

/// What a stream shows.
package enum StreamFilter: Sendable, Equatable {
    /// Every store that the session has, and those it makes later.
    case all
    /// These, each once.
    case features([FeatureID])

    /// The same without some features.
    func without(_ excluded: [FeatureID]) -> StreamFilter {
        guard !excluded.isEmpty, case .features(let features) = self else { return self }
        return .features(features.filter { !excluded.contains($0) })
    }

    func shows(_ feature: FeatureID) -> Bool {
        switch self {
        case .all: true
        case .features(let features): features.contains(feature)
        }
    }
}

/// A session's open streams, in the order of their numbers, which is that in which they were opened.
struct StreamTable {
    var all: [StreamState] = []
    /// What one of several streams was told last, for the others.
    var lastStep: SharedStep?
    /// What streams were told since it was taken last.
    var tally = EventTally()

    var isEmpty: Bool { all.isEmpty }
    /// Whether a stream shows changes instead of whole view states.
    var showsChanges: Bool { all.contains { $0.delta != nil } }

    /// Where a stream is, by bisection: a session may have very many.
    func index(of number: UInt64) -> Int? {
        let index = place(of: number)
        return index < all.count && all[index].number == number ? index : nil
    }

    /// Where a stream of that number is or belongs.
    private func place(of number: UInt64) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Mostly the last; not where two are opened at once.
    mutating func add(_ stream: StreamState) { all.insert(stream, at: place(of: stream.number)) }

    mutating func remove(_ number: UInt64) -> StreamState? { index(of: number).map { all.remove(at: $0) } }

    /// Changes the streams that show a feature, and has their connections told; but of those that were told to go, which
    /// show nothing of what comes later.
    mutating func change(showing feature: FeatureID, _ body: (inout StreamState) -> Void) {
        for index in all.indices where all[index].filter.shows(feature) {
            if all[index].farewell == nil { all[index].hasNews = true }
            body(&all[index])
        }
    }

    /// A store's view state is to be shown; the first turn that changed it had the number `since`.
    mutating func markDirty(_ feature: FeatureID, since: UInt64) {
        lastStep = nil
        var conflated: UInt32 = 0
        change(showing: feature) { if !$0.markDirty(feature, since: since) { conflated += 1 } }
        tally.conflated &+= conflated
    }

    /// What the stream was told since the last call: each step is followed by one.
    mutating func takeTally(of number: UInt64) -> EventTally {
        var taken = EventTally()
        swap(&taken, &tally)
        if let index = index(of: number) { all[index].events += taken.events }
        return taken
    }

    /// A store is gone.
    mutating func ended(_ feature: FeatureID) { change(showing: feature) { $0.storeEnded(feature) } }

    mutating func finish(
        _ reason: GoAwayReason, at last: StreamFarewell.Position, where isMeant: (StreamState) -> Bool = { _ in true }
    ) {
        change(isMeant) { $0.finish(reason, at: last) }
    }

    /// Ends streams whose client has lost its access: they write their farewell and nothing else.
    mutating func cut(_ reason: GoAwayReason, where isMeant: (StreamState) -> Bool) {
        change(isMeant) { $0.cut(reason) }
    }

    /// Changes the streams that are meant, and has their connections told.
    mutating func change(_ isMeant: (StreamState) -> Bool, _ body: (inout StreamState) -> Void) {
        for index in all.indices where isMeant(all[index]) {
            body(&all[index])
            all[index].hasNews = true
        }
    }

    /// The log is another one. What a stream had yet to write that was told to go is gone with the old one.
    mutating func reset(_ reason: ResetReason) {
        rename(reason)
        for index in all.indices {
            if let farewell = all[index].farewell { all[index].cut(farewell.reason) }
            all[index].reset = (reason, true)
            // Numbers of the old log say nothing of what waits in the new one.
            all[index].dirty = []
            all[index].nextLabel = 0
            all[index].handedOut = []
        }
    }

    /// The log has another name, and goes on as it was here: labels go on, too.
    mutating func rename(_ reason: ResetReason) {
        lastStep = nil
        for index in all.indices {
            all[index].reset = (reason, all[index].reset?.labelsLost ?? false)
            all[index].delta = all[index].delta.map { StreamDelta($0.form) }
            all[index].hasNews = true
        }
    }

    /// Makes room for one more stream: the oldest are told to go. Those without a connection yet are told when it comes.
    mutating func supersede(limit: Int, of credential: Credential?, at last: StreamFarewell.Position) {
        var staying = all.count { $0.farewell == nil && !$0.isOver && $0.credential === credential }
        for index in all.indices where staying >= limit && all[index].credential === credential {
            guard all[index].farewell == nil, !all[index].isOver else { continue }
            all[index].finish(.superseded, at: last)
            all[index].hasNews = true
            staying -= 1
        }
    }

    /// The streams that have news since the last call.
    mutating func takeWakers() -> ShortList<any StreamWaker> {
        var wakers: ShortList<any StreamWaker> = []
        for index in all.indices where all[index].hasNews {
            all[index].hasNews = false
            if let waker = all[index].waker { wakers.append(waker) }
        }
        return wakers
    }

    func isShown(_ feature: FeatureID) -> Bool { all.contains { $0.filter.shows(feature) && !$0.isOver } }

    /// The numbers of the streams that show the feature.
    func showing(_ feature: FeatureID) -> [UInt64] { all.filter { $0.filter.shows(feature) }.map(\.number) }

    /// Notes that a stream watches a store; false if the stream is closed.
    mutating func watches(_ number: UInt64, _ store: SessionStore) -> Bool {
        guard let index = index(of: number) else { return false }
        all[index].watches(store)
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

    /// That the principal's time is over soon.
    struct IdentityNotice: Equatable {
        /// Since 1970.
        let expiry: Duration
        let seconds: Int
        var isTold = false
    }

    let number: UInt64
    let filter: StreamFilter
    /// Of the client; nil if nobody has signed in.
    let credential: Credential?
    /// What it has shown, if it is told of changes; nil if of whole view states.
    var delta: StreamDelta?
    /// The features that it may not show, and those that its client is to be told of.
    var denied: [FeatureID]
    var newlyDenied: [FeatureID] = []
    var identityNotice: IdentityNotice?
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
    /// Nil until it is told to go.
    private(set) var farewell: StreamFarewell?
    var isOver = false
    var waker: (any StreamWaker)?
    /// Whether its connection is to be told.
    var hasNews = false
    /// When it was opened, on the monotonic clock.
    var opened: Duration = .zero
    /// How many events were handed to its connection, pings apart.
    var events: UInt64 = 0
    /// The stores that are told when the stream closes.
    var watched: ShortList<SessionStore> = []

    /// Whether it has nothing to tell but states and labels.
    // Not called: all of the stream would be copied for it.
    @inline(__always)
    var isAtRest: Bool {
        opening.isEmpty && reset == nil && ended.isEmpty && farewell == nil && newlyDenied.isEmpty
            && identityNotice?.isTold != false
    }

    /// A store's view state cannot be had here: nothing waits for it.
    mutating func leaveOut(_ feature: FeatureID) {
        dirty.removeAll { $0.feature == feature }
        if !leftOut.contains(feature) { leftOut.append(feature) }
    }

    /// False if it had an older state of the feature to show, which it will not show now.
    @discardableResult
    mutating func markDirty(_ feature: FeatureID, since: UInt64) -> Bool {
        // One that was told to go shows what it had to show then.
        guard farewell == nil else { return true }
        var since = since
        if leftOut.contains(feature) {
            leftOut.removeAll { $0 == feature }
            // Nothing of it was shown: its earlier labels wait as well.
            since = 0
        }
        guard !dirty.contains(where: { $0.feature == feature }) else { return false }
        dirty.append(Dirty(feature: feature, since: since))
        return true
    }

    mutating func watches(_ store: SessionStore) {
        watched.removeAll { $0.feature == store.feature }
        watched.append(store)
    }

    /// How many `end`s may wait for a client that does not read; if more do, the stream goes.
    static let endLimit = 256

    mutating func storeEnded(_ feature: FeatureID) {
        // Labels of the state that one which was told to go has not shown are left to the next stream.
        if farewell == nil { dirty.removeAll { $0.feature == feature } }
        watched.removeAll { $0.feature == feature }
        delta?.forget(feature)
        guard farewell == nil, ended.count <= Self.endLimit, !ended.contains(feature) else { return }
        ended.append(feature)
    }

    /// A label is gone from the outbox: if it was still owed, the client must hear of it.
    mutating func dropped(_ place: UInt64) {
        guard place >= nextLabel, place < lastPosition?.label ?? .max else { return }
        nextLabel = place + 1
        reset = (.overflow, true)
    }

    /// Where it ends; nil if it was not told to go, or writes nothing more.
    var lastPosition: StreamFarewell.Position? { farewell?.last }

    /// Whether its client has lost its access: what is unsent stays so.
    var isCut: Bool { farewell != nil && lastPosition == nil }

    /// Tells it to go: it writes what comes before that position, and ends.
    mutating func finish(_ reason: GoAwayReason, at last: StreamFarewell.Position) {
        if farewell == nil, !isOver { farewell = StreamFarewell(reason: reason, last: last) }
    }

    /// Tells it to go and to write nothing more.
    mutating func cut(_ reason: GoAwayReason) {
        guard !isOver, !isCut else { return }
        farewell = StreamFarewell(reason: reason, last: nil)
    }
}

/// How a stream ends that was told to go. Nothing that happens later keeps it.
struct StreamFarewell {
    /// The end of the session's log when the stream was told.
    struct Position {
        /// The place of the first label that the stream does not write.
        let label: UInt64
        /// The number of the last turn: no cursor goes beyond it.
        let number: UInt64
        /// Until when it may write, on the monotonic clock.
        let deadline: Duration
    }

    let reason: GoAwayReason
    /// Nil if it writes nothing more.
    let last: Position?
}

extension SessionCore {
    /// Where a stream ends that is told to go now.
    func lastPosition(now: Duration) -> StreamFarewell.Position {
        StreamFarewell.Position(label: outbox.endPlace, number: head.number, deadline: now + .seconds(30))
    }
}

/// Why the server ends a stream; the client is told before.
package enum GoAwayReason: String, Sendable, CaseIterable {
    /// The server goes away; another, or the same one anew, will be there.
    case drain
    /// The stream is old; connect again.
    case rotate
    /// The session has a newer stream and no room for both.
    case superseded
    /// The session has expired.
    case expired
    /// The session was deleted.
    case ended
    /// The server has no room for the stream now.
    case busy
    /// The principal's time is over, or somebody has signed in and the stream's credential is not good any more.
    case identity

    /// When a client should come back that came without renewing its identity, in milliseconds.
    package static func retryAfterExpiry() -> Int { Int.random(in: 15_000...60_000) }

    /// When the client should come back, in milliseconds; random, so that many of them come back spread out.
    package func retry() -> Int {
        switch self {
        case .superseded: 60_000
        case .busy: Int.random(in: 5_000...15_000)
        case .drain, .rotate, .expired, .ended, .identity: Int.random(in: 1_000...5_000)
        }
    }
}

/// What went wrong with a stream's position in the log.
package enum ResetReason: String, Sendable, CaseIterable {
    /// The cursor is none of this session's.
    case unknownCursor = "unknown-cursor"
    /// The cursor is older than labels that are gone.
    case expired
    /// The stream was slow, or away, for so long that labels it was owed had to go.
    case overflow
    /// A store could not be read and started over.
    case storeReplaced = "store-replaced"
}
