import DequeModule

/// The intents that have no answer, in the order in which they were sent.
struct IntentState: Sendable {
    var queue: Deque<PendingIntent> = []
    /// True if the first is on its way.
    var inFlight: ExchangeID?
    /// The time of the first intent's next try.
    var nextTry: Duration?
    /// True if the server asked for that time.
    var isAskedTo = false
    /// Intents that ran and are not shown yet.
    var shownWaits: [ShownWait] = []

    mutating func retryNow(at now: Duration) {
        if !isAskedTo, nextTry != nil { nextTry = now }
    }
}
