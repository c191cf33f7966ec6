import Locking
import MVI
import SessionJournal

/// Wakes a stream's connection if there may be something to write.
package protocol StreamWaker: AnyObject, Sendable {
    /// Called from any thread, never under a lock; must not block.
    func wake()
}

/// A session's open streams, in the order of their numbers, in which they were opened.
struct StreamTable {
    var all: [StreamState] = []
    /// The last step of one of the streams, shared with the others.
    var lastStep: SharedStep?
    /// The events that streams were sent since the last call of `takeTally`.
    var tally = EventTally()

    /// True if clients of streams may have seen different views.
    var haveAudiences = false

    var isEmpty: Bool { all.isEmpty }
    /// True if a stream shows changes instead of whole view states.
    var showsChanges: Bool { all.contains { $0.delta != nil } }

    /// The index of a stream, by bisection: a session may have very many.
    func index(of number: UInt64) -> Int? {
        let index = place(of: number)
        return index < all.count && all[index].number == number ? index : nil
    }

    /// The index at which a stream of that number is or belongs.
    private func place(of number: UInt64) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Appends in most cases; not if two are opened at the same time.
    mutating func add(_ stream: StreamState) { all.insert(stream, at: place(of: stream.number)) }

    mutating func remove(_ number: UInt64) -> StreamState? { index(of: number).map { all.remove(at: $0) } }

    /// Changes the streams that show a feature and wakes their connections. Skips ending streams, which show nothing
    /// new.
    mutating func change(
        showing feature: FeatureID, wakes: Bool = true, _ body: (inout StreamState) -> Void = { _ in }
    ) {
        for index in all.indices where all[index].filter.shows(feature) {
            if wakes, all[index].farewell == nil { all[index].hasNews = true }
            body(&all[index])
        }
    }

    /// Marks a store's view state to be shown. The first turn that changed it has the number `since`.
    mutating func markDirty(_ feature: FeatureID, since: UInt64, wakes: Bool = true) {
        lastStep = nil
        var conflated: UInt32 = 0
        change(showing: feature, wakes: wakes) { if !$0.markDirty(feature, since: since) { conflated += 1 } }
        tally.conflated &+= conflated
    }

    /// Returns the events that the stream was sent since the last call, which follows each step.
    mutating func takeTally(of number: UInt64) -> EventTally {
        var taken = EventTally()
        swap(&taken, &tally)
        if let index = index(of: number) { all[index].events += taken.events }
        return taken
    }

    /// Has streams show that a store is gone.
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

    /// Changes the streams that are meant and wakes their connections.
    mutating func change(_ isMeant: (StreamState) -> Bool, _ body: (inout StreamState) -> Void) {
        for index in all.indices where isMeant(all[index]) {
            body(&all[index])
            all[index].hasNews = true
        }
    }

    /// Resets streams to another log. Events of the old log that an ending stream had yet to write are dropped.
    mutating func reset(_ reason: ResetReason) {
        rename(reason)
        for index in all.indices {
            if let farewell = all[index].farewell { all[index].cut(farewell.reason) }
            all[index].makeRare().reset = (reason, true)
            // Numbers of the old log mean nothing in the new one.
            all[index].dirty = []
            all[index].rare?.awaited = []
            all[index].nextLabel = 0
            all[index].handedOut = []
        }
    }

    /// Renames the log, which continues otherwise: labels go on, too.
    mutating func rename(_ reason: ResetReason) {
        lastStep = nil
        for index in all.indices {
            let rare = all[index].makeRare()
            rare.reset = (reason, rare.reset?.labelsLost ?? false)
            rare.delta = rare.delta.map { StreamDelta($0.form) }
            rare.seen = []
            all[index].hasNews = true
        }
    }

    /// Makes room for one more stream: the oldest are told to end, those without a connection when it comes.
    mutating func supersede(limit: Int, of credential: Credential?, at last: StreamFarewell.Position) {
        var staying = all.count { $0.farewell == nil && !$0.isOver && $0.credential === credential }
        for index in all.indices where staying >= limit && all[index].credential === credential {
            guard all[index].farewell == nil, !all[index].isOver else { continue }
            all[index].finish(.superseded, at: last)
            all[index].hasNews = true
            staying -= 1
        }
    }

    /// Returns the wakers of streams that have news since the last call.
    mutating func takeWakers() -> ShortList<any StreamWaker> {
        var wakers: ShortList<any StreamWaker> = []
        for index in all.indices where all[index].hasNews {
            all[index].hasNews = false
            if let waker = all[index].waker { wakers.append(waker) }
        }
        return wakers
    }

    func isShown(_ feature: FeatureID) -> Bool { all.contains { $0.filter.shows(feature) && !$0.isOver } }

    /// True if a stream has yet to show the state of a store.
    func owes(_ feature: FeatureID) -> Bool { all.contains { $0.dirty.contains { $0.feature == feature } } }

    /// Has streams forget a store that leaves memory although they show it.
    mutating func forget(_ store: SessionStore) {
        for index in all.indices { all[index].watched.removeAll { $0 === store } }
    }

    /// True if a stream names the feature instance. One that shows all shows only what is in memory.
    func isNamed(_ feature: FeatureID) -> Bool {
        all.contains { $0.filter != .all && $0.filter.shows(feature) && !$0.isOver }
    }

    /// The numbers of the streams that show the feature.
    func showing(_ feature: FeatureID) -> [UInt64] { all.filter { $0.filter.shows(feature) }.map(\.number) }

    /// Notes that a stream watches a store. Returns false if the stream is closed.
    mutating func watches(_ number: UInt64, _ store: SessionStore) -> Bool {
        guard let index = index(of: number) else { return false }
        all[index].watches(store)
        return true
    }
}

/// A stream's position in its session: a place in the outbox, and the features whose newest state it has not shown. It
/// copies neither, so a slow client costs no memory.
struct StreamState {
    /// A feature whose newest view state the stream has not shown.
    struct Dirty: Equatable {
        let feature: FeatureID
        /// The number of the first turn that the stream has not shown: labels of it and later ones wait.
        let since: UInt64
    }

    /// The notice that the principal expires soon.
    struct IdentityNotice: Equatable {
        /// Since 1970.
        let expiry: Duration
        let seconds: Int
        var isTold = false
    }

    let number: UInt64
    let filter: StreamFilter
    /// The client's credential; nil if no client has signed in.
    let credential: Credential?
    /// The last turn whose labels are replays.
    let replayThrough: UInt64
    /// The place of the next label to look at.
    var nextLabel: UInt64
    let startedResumed: Bool
    var isOver = false
    /// True if its connection has to be woken.
    var hasNews = false
    /// True if the last step contained the event about lost labels.
    var handedOutLoss = false
    /// The places of the labels in the last step, which the socket may not have taken yet.
    var handedOut: [UInt64] = []
    /// In the order in which they changed first.
    var dirty: ShortList<Dirty> = []
    var waker: (any StreamWaker)?
    /// The time at which it was opened, on the monotonic clock.
    var opened: Duration = .zero
    /// The number of events passed to its connection, without pings.
    var events: UInt64 = 0
    /// The stores that are told when the stream closes.
    var watched: ShortList<SessionStore> = []
    /// Released after the lock.
    var place: (any AnyObject & Sendable)?
    /// Nil if the stream needs none of them.
    var rare: Rare?

    /// Members that an idle stream does not need.
    final class Rare {
        /// The view states that it has sent, if it shows changes; nil for whole view states.
        var delta: StreamDelta?
        /// The features that it may not show, and those that its client has yet to be told of.
        var denied: [FeatureID] = []
        var newlyDenied: [FeatureID] = []
        /// Features without a store, for which the session has no room. The client has yet to be told of them.
        var withoutRoom: [FeatureID] = []
        var identityNotice: IdentityNotice?
        /// Features of the filter that this build cannot show, and the number of the first turn of which a label is
        /// held back for that reason. No cursor passes that turn: a stream of another build will show it.
        var leftOut: ShortList<FeatureID> = []
        var heldFrom = UInt64.max
        /// States that wait for the first results of observations, with their labels.
        var awaited: ShortList<Dirty> = []
        /// Features that it shows as stale.
        var stale: ShortList<FeatureID> = []
        /// The views of its audiences that it has sent last.
        var seen: [SeenView] = []
        /// The start of its client's names of receipts, if that may see other views than others do.
        var scope: String?
        /// Features whose store is gone, which the client has yet to be told.
        var ended: [FeatureID] = []
        var reset: (reason: ResetReason, labelsLost: Bool)?
        /// Directed labels that left the outbox before the stream came to them.
        var missed: [StoredLabel] = []
        /// Its client, once a directed label was in its way.
        var reader: LabelReader?
        /// The bytes before anything else.
        var opening: [UInt8] = []
        /// For a part of a bundle, whose events have no ids of their own: the number of the turn up to which it has shown
        /// all. Nil for a stream of its own.
        var covered: UInt64?
        /// Nil until it is told to end.
        fileprivate(set) var farewell: StreamFarewell?

        /// True if the stream has only states and labels to send.
        var isAtRest: Bool {
            opening.isEmpty && reset == nil && ended.isEmpty && farewell == nil && newlyDenied.isEmpty
                && withoutRoom.isEmpty && awaited.isEmpty && stale.isEmpty
                && identityNotice?.isTold != false
        }

        var isBlank: Bool {
            isAtRest && delta == nil && denied.isEmpty && identityNotice == nil && leftOut.isEmpty && heldFrom == .max
                && covered == nil && scope == nil && reader == nil
        }
    }

    @inline(__always) var delta: StreamDelta? { rare?.delta }
    @inline(__always) var denied: [FeatureID] { rare?.denied ?? [] }
    @inline(__always) var leftOut: ShortList<FeatureID> { rare?.leftOut ?? [] }
    /// True for a part of a bundle.
    @inline(__always) var isPart: Bool { rare?.covered != nil }
    @inline(__always) var farewell: StreamFarewell? { rare?.farewell }
    /// True if it has events that a stream of another build shows, which no cursor may pass.
    @inline(__always) var holdsBack: Bool { rare.map { !$0.leftOut.isEmpty || $0.heldFrom != .max } ?? false }
    @inline(__always) var isAtRest: Bool { rare?.isAtRest != false }

    /// Returns the rare members, creating them if needed.
    mutating func makeRare() -> Rare {
        if let rare { return rare }
        let made = Rare()
        rare = made
        return made
    }

    /// Frees the rare members if the stream needs none of them.
    @inline(__always) mutating func rest() { if rare?.isBlank == true { rare = nil } }

    /// Stops waiting for a store's view state, which is not available here.
    mutating func leaveOut(_ feature: FeatureID) {
        dirty.removeAll { $0.feature == feature }
        rare?.awaited.removeAll { $0.feature == feature }
        if !leftOut.contains(feature) { makeRare().leftOut.append(feature) }
    }

    /// Returns false if it had an older state of the feature to show, which it will not show now.
    @discardableResult
    mutating func markDirty(_ feature: FeatureID, since: UInt64) -> Bool {
        // An ending stream shows what it had to show at that time.
        var since = since
        if let rare {
            guard rare.farewell == nil, !rare.awaited.contains(where: { $0.feature == feature }) else { return true }
            if rare.leftOut.contains(feature) {
                rare.leftOut.removeAll { $0 == feature }
                // No state of it was shown: its earlier labels wait as well.
                since = 0
            }
        }
        guard !dirty.contains(where: { $0.feature == feature }) else { return false }
        dirty.append(Dirty(feature: feature, since: since))
        return true
    }

    mutating func watches(_ store: SessionStore) {
        watched.removeAll { $0.feature == store.feature }
        watched.append(store)
    }

    /// The maximum number of `end` events that wait for a client that does not read. Beyond it, the stream ends.
    static let endLimit = 256

    mutating func storeEnded(_ feature: FeatureID) {
        // Labels of a state that an ending stream has not shown are left to the next stream.
        if farewell == nil { dirty.removeAll { $0.feature == feature } }
        watched.removeAll { $0.feature == feature }
        let rare = makeRare()
        rare.awaited.removeAll { $0.feature == feature }
        rare.stale.removeAll { $0 == feature }
        rare.delta?.forget(feature)
        rare.seen.removeAll { $0.feature == feature }
        guard rare.farewell == nil, rare.ended.count <= Self.endLimit, !rare.ended.contains(feature) else { return }
        rare.ended.append(feature)
    }

    /// The maximum number of directed labels that left the outbox and may have been owed. Beyond it, the client is told.
    static let missedLimit = 64

    /// Handles a label that left the outbox: if it was still owed, the client must be told.
    mutating func dropped(_ entry: Outbox.Entry) {
        guard entry.place >= nextLabel, entry.place < lastPosition?.label ?? .max else { return }
        let rare = makeRare()
        if entry.label.to != nil, rare.missed.count < Self.missedLimit { return rare.missed.append(entry.label) }
        nextLabel = entry.place + 1
        rare.reset = (.overflow, true)
    }

    /// The position at which it ends; nil if it was not told to end, or writes nothing more.
    var lastPosition: StreamFarewell.Position? { farewell?.last }

    /// True if its client has lost its access: unsent bytes are not sent.
    var isCut: Bool { farewell != nil && lastPosition == nil }

    /// Tells it to end after all events before that position.
    mutating func finish(_ reason: GoAwayReason, at last: StreamFarewell.Position) {
        if farewell == nil, !isOver { makeRare().farewell = StreamFarewell(reason: reason, last: last) }
    }

    /// Tells it to end and to write nothing more.
    mutating func cut(_ reason: GoAwayReason) {
        guard !isOver, !isCut else { return }
        makeRare().farewell = StreamFarewell(reason: reason, last: nil)
    }
}

/// The end of a stream that was told to end. Later events do not delay it.
struct StreamFarewell {
    /// The end of the session's log when the stream was told.
    struct Position {
        /// The place of the first label that the stream does not write.
        let label: UInt64
        /// The number of the last turn: no cursor goes beyond it.
        let number: UInt64
        /// The time until which it may write, on the monotonic clock.
        let deadline: Duration
    }

    let reason: GoAwayReason
    /// Nil if it writes nothing more.
    let last: Position?
}
