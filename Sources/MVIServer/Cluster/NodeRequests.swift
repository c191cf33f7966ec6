import SessionJournal

/// Does what other nodes ask of this one for themselves, not for a client.
package protocol NodeRequests: Sendable {
    /// Streams of another node show these stores now; sessions that are not named are as they were.
    func watched(by node: NodeID, _ sessions: [WatchedSession]) async

    /// Stops a session's work and lets go of it, so that any node may run its turns.
    ///
    /// - Parameter token: the hash of the token that it began with.
    /// - Returns: false if this node does not own it.
    func giveAway(session token: TokenHash) async -> Bool
}
