import LibCrypto
import MVI

/// The name of a space: a session that is found by its name and has neither credential nor subject.
///
/// `group` for a server-wide one, `group:key` for one of many, with the characters of a feature's id.
package struct SpaceName: Hashable, Sendable, CustomStringConvertible {
    private let id: FeatureID

    /// Parses a name. Returns nil if it is malformed.
    package init?(_ text: some StringProtocol) {
        guard let id = FeatureID(text) else { return nil }
        self.id = id
    }

    /// The whole name.
    package var text: String { id.text }
    package var group: String { id.name }
    /// The key, or nil for a server-wide space.
    package var key: String? { id.key }

    package var description: String { text }
}

extension TokenHash {
    /// The hash under which journals store a space: the SHA-256 of `space:` and its name.
    ///
    /// No client's token has it: tokens are base64url, without a colon, so a client would have to find
    /// a collision.
    package init(space: SpaceName) { self.init(SHA256.digest(Array("space:\(space.text)".utf8))) }
}
