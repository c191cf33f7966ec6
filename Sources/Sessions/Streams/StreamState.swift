import Locking
import MVI

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

    func shows(_ feature: FeatureID) -> Bool { filter.shows(feature) }

    /// Whether it has nothing to tell but states and labels.
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

    /// How many `end`s may wait for a client that does not read.
    private static let endLimit = 256

    /// Whether more wait: the stream goes.
    var hasTooManyEnds: Bool { ended.count > Self.endLimit }

    mutating func storeEnded(_ feature: FeatureID) {
        // Labels of the state that one which was told to go has not shown are left to the next stream.
        if farewell == nil { dirty.removeAll { $0.feature == feature } }
        watched.removeAll { $0.feature == feature }
        delta?.forget(feature)
        guard farewell == nil, !hasTooManyEnds, !ended.contains(feature) else { return }
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
