import SessionJournal
import MVI

/// What a session's lock guards: plain data. Everything that its clients can see changes here, in one step for each
/// commit, so that subscribing and resuming find no gap.
struct SessionCore {
    var isEnded = false
    /// Of the last committed turn, over all stores.
    var sequence: UInt64 = 0
    var stores: [FeatureID: StoreSlot] = [:]
    /// The highest version that a store which is gone had: a new one goes on above it.
    var versionFloor: UInt64 = 0
    /// The sequence number of the last label that was dropped while somebody could be owed it, over stores that are
    /// gone.
    var droppedFloor: UInt64 = 0
    /// Whether a store that is gone published labels.
    var labelledFloor = false
    var outbox = Outbox()
    /// Whether a label of a store that is gone was dropped unheard; see `StoreSlot.hasUnheard`.
    var unheardFloor = false
    /// In the order in which they were opened.
    var streams: [StreamState] = []
    var receipts = ReceiptBook()
    /// Requests that wait, by number.
    var waits: [UInt64: Wait] = [:]
    /// On the monotonic clock: when the last request or stream was there.
    var lastTouch: Duration
    /// When the session's cookie was last set, on the monotonic clock.
    var cookieSet: Duration

    init(now: Duration) {
        lastTouch = now
        cookieSet = now
    }
}

/// A store as its session sees it: the committed head as bytes.
struct StoreSlot {
    let handle: StoreHandle
    /// Tells this store from an earlier one of the same name.
    let number: UInt64
    var version: UInt64
    var view: [UInt8]
    /// The intent that led to `view`; nil when it is the initial one.
    var intentID: IntentID?
    /// The `state` event of `view`, made when a stream first asks for it.
    var stateEvent: [UInt8]?
    /// The sequence number of the last label that was dropped while somebody could be owed it.
    var droppedSequence: UInt64
    /// Whether it ever published a label.
    var hasLabels = false
    /// Whether a label was dropped that no stream ever got, while none showed the store: the next that does is told.
    var hasUnheard = false
    /// Whoever waits for the view state to change.
    var waiters: [StateWaiter] = []
}

/// A request that waits for a view state to change.
struct StateWaiter {
    let number: UInt64
    let resume: @Sendable () -> Void
}
