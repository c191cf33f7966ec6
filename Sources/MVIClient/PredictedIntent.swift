/// An intent that a store shows before the server has confirmed it; see ``RemoteStore/pending``.
public struct PredictedIntent<Intent: Sendable>: Sendable, Identifiable {
    /// The intent's idempotency key.
    public let id: String
    /// The intent.
    public let intent: Intent
    /// The progress of the intent.
    public let status: PredictionStatus
    /// The error of a failed intent.
    public let error: RemoteError?

    let retries: @Sendable () -> Void
    let dismisses: @Sendable () -> Void

    /// Shows and sends a failed intent again, with the same key: it runs once.
    public func retry() { retries() }

    /// Forgets a failed intent.
    public func dismiss() { dismisses() }
}

/// The status of a predicted intent.
public enum PredictionStatus: Sendable, Equatable {
    /// It has no answer.
    case sending
    /// The server has committed it, and the store does not show that yet.
    case sent
    /// The server refused it, or its answer did not come in time; see the error. It is not shown.
    case failed
}
