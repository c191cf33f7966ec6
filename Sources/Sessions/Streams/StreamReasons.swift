/// Why the server ends a stream; the client is told before.
package enum GoAwayReason: String, Sendable, CaseIterable {
    /// The server goes away; another, or the same one anew, will be there.
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
    /// The principal's time is over, or somebody has signed in and the stream's credential is not good any more.
    case identity

    /// When a client should come back that came without renewing its identity, in milliseconds.
    package static func retryAfterExpiry() -> Int { Int.random(in: 15_000...60_000) }

    /// When the client should come back, in milliseconds; random, so that many of them come back spread out.
    package func retry() -> Int {
        switch self {
        case .superseded: 60_000
        case .busy: Int.random(in: 5_000...15_000)
        case .drain, .rotate, .expired, .ended, .identity: Int.random(in: 1_000...5_000)
        }
    }
}

/// What went wrong with a stream's position in the log.
package enum ResetReason: String, Sendable, CaseIterable {
    /// The cursor is none of this session's.
    case unknownCursor = "unknown-cursor"
    /// The cursor is older than labels that are gone.
    case expired
    /// The stream was slow, or away, for so long that labels it was owed had to go.
    case overflow
    /// A store could not be read and started over.
    case storeReplaced = "store-replaced"
}
