import SessionJournal

/// The stores of a session that streams of a node show.
package struct WatchedSession: Sendable, Hashable {
    /// The hash of the token that the session began with.
    package var token: TokenHash
    /// All that are shown; empty for none any more.
    package var features: [FeatureID]

    package init(token: TokenHash, features: [FeatureID]) { (self.token, self.features) = (token, features) }
}
