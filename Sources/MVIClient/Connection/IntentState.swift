import DequeModule

/// The intents that have no answer, in the order in which they were sent.
struct IntentState: Sendable {
    var queue: Deque<PendingIntent> = []
    /// Whether the first is on its way.
    var inFlight: ExchangeID?
    /// When the first is tried again.
    var nextTry: Duration?
    /// Whether the server asked for that time.
    var isAskedTo = false
    /// Intents that ran and are not shown yet.
    var shownWaits: [ShownWait] = []

    mutating func retryNow(at now: Duration) {
        if !isAskedTo, nextTry != nil { nextTry = now }
    }
}
