/// The reason why the server ends a stream, which the client is told before.
package enum GoAwayReason: String, Sendable, CaseIterable {
    /// The server shuts down. Another one, or the same one after a restart, replaces it.
    case drain
    /// The stream is old; connect again.
    case rotate
    /// The session has a newer stream and no room for both.
    case superseded
    /// The session has expired.
    case expired
    /// The session was deleted.
    case ended
    /// The server has no room for the stream now.
    case busy
    /// The principal has expired, or a client has signed in and the stream's credential is no longer valid.
    case identity

    /// The time until a client should reconnect that came without renewing its identity, in milliseconds.
    package static func retryAfterExpiry() -> Int { Int.random(in: 15_000...60_000) }

    /// The time until the client should reconnect, in milliseconds; random, to spread many clients.
    package func retry() -> Int {
        switch self {
        case .superseded: 60_000
        case .busy: Int.random(in: 5_000...15_000)
        case .drain, .rotate, .expired, .ended, .identity: Int.random(in: 1_000...5_000)
        }
    }
}
