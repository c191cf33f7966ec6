/// What an asynchronous check of an intent may look at.
public struct CheckContext<F: Feature>: Sendable {
    /// The store's committed state when the check began; it may be another one when the intent runs.
    public let state: F.State
    /// The intent's id.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// Who sent the intent; nil for somebody who is not signed in.
    public let principal: Principal?
    /// When the check began.
    public let now: Timestamp
}

/// What becomes of an intent that was checked. One that is refused throws a `Refusal`.
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

/// A check that is to run on a store of its feature, without the feature's type.
@usableFromInline
package struct PendingCheck: Sendable {
    /// Runs the check and returns the turn to enqueue, also for an intent that it refuses or fails at.
    @usableFromInline package let run: @Sendable (any StoreRunner, CheckCall) async -> RunTurn

    @inlinable
    init(run: @escaping @Sendable (any StoreRunner, CheckCall) async -> RunTurn) { self.run = run }
}

/// What a check is called with.
@usableFromInline
package struct CheckCall: Sendable {
    @usableFromInline let intentID: IntentID
    @usableFromInline let principal: Principal?
    @usableFromInline let host: any TurnHost

    package init(_ intentID: IntentID, _ principal: Principal?, _ host: any TurnHost) {
        (self.intentID, self.principal, self.host) = (intentID, principal, host)
    }
}
