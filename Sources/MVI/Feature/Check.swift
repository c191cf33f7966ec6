/// The context of an asynchronous check of an intent.
public struct CheckContext<F: Feature>: Sendable {
    /// The store's committed state when the check began; it may be another one when the intent runs.
    public let state: F.State
    /// The intent's id.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The caller who sent the intent; nil if anonymous.
    public let principal: Principal?
    /// The time at which the check began.
    public let now: Timestamp
}

/// The result of a check that does not refuse its intent. To refuse it, throw a `Refusal`.
public enum CheckResult<F: Feature>: Sendable {
    /// It is executed as it is.
    case execute
    /// That action is performed in its place. No client can send an action, so it can carry what the check found.
    case perform(F.Action)
}

extension Feature {
    /// Asks elsewhere about an intent before it is enqueued; see `check(_:)`.
    public typealias Check = @Sendable (CheckContext<Self>) async throws -> CheckResult<Self>
}
