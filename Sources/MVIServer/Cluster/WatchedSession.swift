import MVI
import SessionJournal

/// The stores of a session that streams of a node show.
package struct WatchedSession: Sendable, Hashable {
    /// The hash of the session's first token.
    package var token: TokenHash
    /// The shown stores; empty if there are none any more.
    package var features: [FeatureID]

    package init(token: TokenHash, features: [FeatureID]) { (self.token, self.features) = (token, features) }
}
