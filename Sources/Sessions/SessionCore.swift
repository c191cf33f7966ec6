import MVI
import SessionJournal

/// What a session's lock guards: plain data. Everything that its clients can see changes here, in one step for each
/// commit, so that subscribing and resuming find no gap.
struct SessionCore {
    var isEnded = false
    /// Whether the session left memory: this object is not the one to ask any more.
    var isEvicted = false
    /// Of the last committed turn that is shown, over all stores.
    var sequence: UInt64 = 0
    /// In no order. Few, mostly one or two: looking through them takes less time and room than hashing.
    var stores: [StoreSlot] = []
    /// Whoever waits for a store that is being loaded.
    var loading: [FeatureID: [@Sendable (Result<Void, StoreRefusal>) -> Void]] = [:]
    /// What is known of stores that are gone.
    var marks = SessionMarks()
    /// Whether `marks` differs from what the journal has.
    var marksChanged = false
    var outbox = Outbox()
    /// Where the journal believes that the outbox begins.
    var keptFirstLabel = LabelID(sequence: 0, index: 0)
    /// Labels that a stream's socket took, of which the journal does not know.
    var newlyWritten: [LabelID] = []
    /// In the order of their numbers, which is that in which they were opened.
    var streams: [StreamState] = []
    /// What one of several streams was told last, for the others.
    var lastStep: SharedStep?
    var receipts = ReceiptBook()
    /// Requests that wait, by number.
    var waits: [UInt64: Wait] = [:]
    /// Appends of which the result has not been taken.
    var appendsInFlight = 0
    /// Commits that came before the one whose turns go before theirs, by the first of their sequence numbers.
    var early: [UInt64: CommittedAppend] = [:]
    /// Whether what another writer appended is being read.
    var isCatchingUp = false
    /// On the monotonic clock: when the last request or stream was there.
    var lastTouch: Duration
    /// What the journal knows of `lastTouch`.
    var keptTouch: Duration
    /// When the session's cookie was last set, on the monotonic clock.
    var cookieSet: Duration
    /// Where the random bits of tokens and the names of intents come from. They need not be secret, but new: two sessions of one name in two
    /// processes start at different places.
    var nonces = SplitMix(state: .random(in: .min ... .max))

    init(now: Duration) {
        lastTouch = now
        keptTouch = now
        cookieSet = now
    }
}

/// A store as its session sees it: the committed head as bytes. Without a handle it is not in memory, and of its head
/// only the version is known.
struct StoreSlot {
    let feature: FeatureID
    var handle: StoreHandle?
    /// Tells this store from an earlier one of the same name.
    var number: UInt64
    /// What the journal has; nil if nothing yet.
    var token: StoreToken?
    var version: UInt64
    var view: [UInt8]
    /// The intent that led to `view`; nil when none did.
    var intentID: IntentID?
    var marks: StoreMarks
    /// The sequence number of the turn with which it took the place of one that could not be read; the largest number
    /// until that turn is committed, 0 if there was none.
    var replacedSequence: UInt64 = 0
    /// The state that the journal does not have, to go with the next append, if that brings none.
    var unwrittenState: [UInt8]?
    /// Why the state that the journal has is to be set aside with the next append.
    var setsAside: String?
    /// When it was last asked for, on the monotonic clock.
    var lastUse: Duration
    /// Whoever waits for the view state to change.
    var waiters: [StateWaiter] = []
}

extension [StoreSlot] {
    func index(of feature: FeatureID) -> Int? { firstIndex { $0.feature == feature } }

    /// The slot of a feature instance. What is done for every intent goes by `index(of:)` and changes the slot where it
    /// is.
    subscript(feature: FeatureID) -> StoreSlot? {
        get { index(of: feature).map { self[$0] } }
        set {
            switch (index(of: feature), newValue) {
            case (let index?, let slot?): self[index] = slot
            case (let index?, nil): remove(at: index)
            case (nil, let slot?): append(slot)
            case (nil, nil): break
            }
        }
    }
}

/// A request that waits for a view state to change.
struct StateWaiter {
    let number: UInt64
    let resume: @Sendable () -> Void
}
