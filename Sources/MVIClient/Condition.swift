/// The condition of the connection between a ``RemoteServer`` and its server.
public enum Condition: Sendable, Equatable {
    /// Nothing is watched, so there is no stream. Intents are sent all the same.
    case idle
    /// A session is made, or a stream is opened, and the server has not answered yet.
    case connecting
    /// The stream is open and healthy: what is shown is what the server has.
    case live
    /// The stream was lost. The next try is after this time, counted from the moment at which this was reported.
    case reconnecting(after: Duration)
    /// The system says that there is no network. Intents wait.
    case offline
    /// The session has too many streams and this one was the oldest: it is opened again at
    /// ``RemoteServer/foreground()``.
    case paused
    /// The server wants an identity, and there is none: call ``RemoteServer/signIn()`` when there is one.
    case signedOut
    /// The session was ended, here or elsewhere: ``RemoteServer/renewSession()`` begins a new one.
    case ended
    /// The server refuses what this client asks, which will not change by asking again.
    case failed(ServerProblem)
    /// ``RemoteServer/close()`` was called.
    case closed
}
