import DequeModule

/// The intents without an answer, in the order in which they were sent.
struct IntentState: Sendable {
    var queue: Deque<PendingIntent> = []
    /// The request of the first intent, if it is in flight.
    var inFlight: ExchangeID?
    /// The time of the next attempt for the first intent.
    var nextTry: Duration?
    /// True if the server requested that time.
    var isAskedTo = false
    /// The committed intents that are not shown yet.
    var shownWaits: [ShownWait] = []

    mutating func retryNow(at now: Duration) {
        if !isAskedTo, nextTry != nil { nextTry = now }
    }
}
