import MVI
import SessionJournal
import Sessions

/// Handles the requests that other nodes make for themselves, not for a client.
package protocol NodeRequests: Sendable {
    /// Sets the stores that streams of another node show now. Sessions that are not listed are unchanged.
    func watched(by node: NodeID, _ sessions: [WatchedSession]) async

    /// Takes the clients that look at stores on another node. Stores that are not listed are unchanged.
    func present(on node: NodeID, _ reports: [PresenceReport]) async

    /// Runs a message in a session whose turns run on this node. Returns `elsewhere` if they do not.
    ///
    /// - Parameter token: the hash of the session's first token.
    func deliver(_ message: ToldMessage, to token: TokenHash) async -> TurnOutcome

    /// Stops a session's work and gives up its ownership, so that any node may run its turns.
    ///
    /// - Parameter token: the hash of the session's first token.
    /// - Returns: false if this node does not own it.
    func giveAway(session token: TokenHash) async -> Bool
}
