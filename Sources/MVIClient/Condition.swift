/// The condition of the connection between a ``RemoteServer`` and its server.
public enum Condition: Sendable, Equatable {
    /// No store is watched, so there is no stream. Intents are sent nevertheless.
    case idle
    /// A session is being created or a stream opened, and the server has not answered yet.
    case connecting
    /// The stream is open and healthy, so the shown states are current.
    case live
    /// The stream was lost. The next attempt comes after this time, counted from this report.
    case reconnecting(after: Duration)
    /// The system reports no network. Intents wait.
    case offline
    /// The session has too many streams, and this one was the oldest. It is reopened at ``RemoteServer/foreground()``.
    case paused
    /// The server requires an identity, and there is none. Call ``RemoteServer/signIn()`` when there is one.
    case signedOut
    /// The session was ended, here or elsewhere. ``RemoteServer/renewSession()`` begins a new one.
    case ended
    /// The server refuses the client's requests for good; retries do not help.
    case failed(ServerProblem)
    /// ``RemoteServer/close()`` was called.
    case closed
}
