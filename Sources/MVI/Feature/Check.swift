/// The values that an asynchronous check of an intent can use.
public struct CheckContext<F: Feature>: Sendable {
    /// The store's committed state when the check began. It may have changed when the intent runs.
    public let state: F.State
    /// The intent's id.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The sender of the intent; nil if the sender is anonymous.
    public let principal: Principal?
    /// The client that sent the intent, with its locale, time zone and address.
    public let client: ClientInfo
    /// The start time of the check.
    public let now: Timestamp
}

/// The result of a check that accepts an intent. A check refuses an intent by throwing a `Refusal`.
public enum CheckResult<F: Feature>: Sendable {
    /// Executes the intent unchanged.
    case execute
    /// Performs an action instead of the intent. Clients cannot send actions, so it can carry the check's result.
    case perform(F.Action)
}

extension Feature {
    /// Validates an intent asynchronously before it is enqueued; see `check(_:)`.
    public typealias Check = @Sendable (CheckContext<Self>) async throws -> CheckResult<Self>
}
