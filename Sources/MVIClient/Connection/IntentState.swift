import DequeModule

/// The intents without an answer, in the order in which they were sent.
struct IntentState: Sendable {
    var queue: Deque<PendingIntent> = [] { didSet { changes += 1 } }
    /// The request of the first intent, if it is in flight.
    var inFlight: ExchangeID? { didSet { changes += 1 } }
    /// The time of the next attempt for the first intent.
    var nextTry: Duration?
    /// True if the server requested that time.
    var isAskedTo = false
    /// The committed intents that are not shown yet.
    var shownWaits: [ShownWait] = []

    /// False until the storage of waiting intents was read. None is sent before.
    var isRestored = true
    /// True if changes are saved.
    var isSaving = false
    /// The error of restored intents, if all intents failed meanwhile.
    var restoringError: RemoteError?
    /// The owner of the intents of a former session.
    var formerOwner: IntentOwner?
    /// The number of changes of the queue and its first request.
    private(set) var changes = 0
    /// The number of changes, and the owner, at the last save.
    var savedChanges = 0
    var savedOwner: IntentOwner?
    /// The list that was saved last; nil if it is unknown.
    var saved: [KeptIntent]?

    mutating func retryNow(at now: Duration) {
        if !isAskedTo, nextTry != nil { nextTry = now }
    }
}
