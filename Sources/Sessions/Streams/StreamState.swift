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

/// A stream's place in its session: a position in the outbox, and the features whose newest state it has not shown.
/// It holds no copies of either, so a slow client costs no memory.
struct StreamState {
    let number: UInt64
    let filter: StreamFilter
    let startedResumed: Bool
    /// Labels of turns up to this one are replays.
    let replayThrough: UInt64
    /// The number of the next label to look at.
    var nextLabel: UInt64
    /// The labels handed out last, which the socket may not have taken yet: their numbers.
    var handedOut: [UInt64] = []
    /// Features whose newest state is to be shown, in the order in which they changed first.
    var dirty: ShortList<FeatureID> = []
    /// Features whose store is gone, to be told.
    var ended: [FeatureID] = []
    var reset: (reason: ResetReason, labelsLost: Bool)?
    /// What comes before anything else.
    var opening: [UInt8] = []
    var goAway: GoAwayReason?
    var isOver = false
    var waker: (any StreamWaker)?
    /// Whom to tell when nobody watches any more.
    var watched: ShortList<Watched> = []

    struct Watched {
        let feature: FeatureID
        let store: any UntypedStore
        let number: UInt64
    }

    func shows(_ feature: FeatureID) -> Bool { filter.shows(feature) }

    /// Whether it has nothing to tell but states and labels.
    var isAtRest: Bool { opening.isEmpty && reset == nil && ended.isEmpty && goAway == nil }

    mutating func markDirty(_ feature: FeatureID) {
        if !dirty.contains(feature) { dirty.append(feature) }
    }

    mutating func watch(_ feature: FeatureID, _ store: any UntypedStore, number: UInt64) {
        markDirty(feature)
        watches(feature, store, number: number)
    }

    mutating func watches(_ feature: FeatureID, _ store: any UntypedStore, number: UInt64) {
        watched.removeAll { $0.feature == feature }
        watched.append(Watched(feature: feature, store: store, number: number))
    }

    /// How many `end`s may wait for a client that does not read; one more and the stream goes.
    private static let endLimit = 256

    mutating func storeEnded(_ feature: FeatureID) {
        dirty.removeAll { $0 == feature }
        watched.removeAll { $0.feature == feature }
        guard !ended.contains(feature) else { return }
        if ended.count >= Self.endLimit {
            finish(.busy)
        } else {
            ended.append(feature)
        }
    }

    /// A label is gone from the outbox: if it was still owed, the client must hear of it.
    mutating func dropped(_ label: UInt64) {
        guard label >= nextLabel else { return }
        nextLabel = label + 1
        reset = (.overflow, true)
    }

    mutating func finish(_ reason: GoAwayReason) {
        if goAway == nil, !isOver { goAway = reason }
    }
}
