/// The server's answer to an intent that ran: it is committed and will not be lost.
public struct IntentReceipt: Sendable, Hashable {
    /// The intent's id: events that it led to name it.
    public let intent: String
    /// The id of the session that it ran in.
    public let session: String
    /// The version of the store after the intent; 0 where the answer has none, which this server's always has.
    public let version: UInt64
}

/// When `send` returns.
public enum SendCompletion: Sendable, Equatable {
    /// When the server has committed the intent.
    case committed
    /// When, beyond that, the store has shown a state that is not older than the intent. At once if the store is not
    /// watched; without an error at the end of the intent's patience.
    case shown
}
