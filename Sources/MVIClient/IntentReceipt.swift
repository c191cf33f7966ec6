/// The server's answer to an intent that ran: it is committed and will not be lost.
public struct IntentReceipt: Sendable, Hashable {
    /// The intent's id: events that it led to name it.
    public let intent: String
    /// The id of the session that it ran in.
    public let session: String
    /// The version of the store after the intent; 0 where the answer has none, which this server's always has.
    public let version: UInt64
}

/// The event after which `send` returns.
public enum SendCompletion: Sendable, Equatable {
    /// The server has committed the intent.
    case committed
    /// The store has also shown a state that is not older than the intent. Immediately if the store is not watched;
    /// without an error at the end of the intent's patience.
    case shown
}
