/// The server's answer to a committed intent.
public struct IntentReceipt: Sendable, Hashable {
    /// The intent's id, which resulting events contain.
    public let intent: String
    /// The id of the session that the intent ran in.
    public let session: String
    /// The version of the store after the intent; 0 if the answer has none, which never happens with this server.
    public let version: UInt64
}

/// The moment at which `send` returns.
public enum SendCompletion: Sendable, Equatable {
    /// After the server has committed the intent.
    case committed
    /// After the store has also shown a state that includes the intent. Immediate if the store is not watched; without
    /// an error at the end of the intent's patience.
    case shown
}
