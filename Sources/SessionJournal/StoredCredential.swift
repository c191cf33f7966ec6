import MVI

/// A client's credential for a session, besides the token that the session began with. Created by signing in.
///
/// A session without credentials is anonymous and its own token is valid. With credentials, only those are valid.
package struct StoredCredential: Sendable, Hashable {
    /// The hash of its token, unique among credentials and sessions.
    package var token: TokenHash
    /// The way in which the client sends the token.
    package var kind: SessionCredential
    /// A number that no other credential of the session has or had: 1, 2, 3 …
    package var number: Int
    /// The signed-in principal, as JSON in a format of `Sessions`.
    package var principal: [UInt8]
    /// The creation time, since 1970.
    package var made: Duration
    /// The last noted use, as time since 1970.
    package var lastSeen: Duration
    /// The time since 1970 until which the request that replaced this credential may be repeated. Nil while it is
    /// valid.
    package var revokedUntil: Duration?
    /// The values that its client has set.
    package var settings: ClientSettings?

    /// The number of the credential of a user who did not take over what the session's anonymous client had: in spaces
    /// they are two people. No other credential of a session that is not shared has it.
    package static let ofAnotherPerson = 3

    package init(
        token: TokenHash, kind: SessionCredential, number: Int, principal: [UInt8], made: Duration,
        lastSeen: Duration? = nil, revokedUntil: Duration? = nil, settings: ClientSettings? = nil
    ) {
        self.settings = settings
        (self.token, self.kind, self.number, self.principal) = (token, kind, number, principal)
        (self.made, self.lastSeen, self.revokedUntil) = (made, lastSeen ?? made, revokedUntil)
    }
}

/// A change of access to a session, stored as a whole or not at all.
package struct CredentialChange: Sendable {
    package var session: SessionKey
    /// The subject that the session must have. If it has another, nothing is stored and the change fails with
    /// `StoreError.Code.contended`.
    package var expecting: Subject?
    /// The session's subject after the change.
    package var subject: Subject?
    /// Credentials to add, or to replace the one with the same token, except for its settings. If the token belongs to
    /// another session, the change fails with `StoreError.Code.exists`.
    package var kept: [StoredCredential]
    /// Credentials to remove. Missing ones are skipped.
    package var removed: [TokenHash]
    /// Credentials that the session must have. Otherwise the change fails with `contended`, so that a credential which
    /// was signed out meanwhile is not renewed.
    package var requires: [TokenHash]
    /// The time since 1970 until which the removed tokens are remembered as ended.
    package var tombstoneUntil: Duration
    /// Reminders to set, each replacing one of the same feature instance and id.
    package var reminders: [StoredReminder]
    /// The settings of the client with a token: that of a credential, or the session's own.
    package var settings: NewSettings?

    package struct NewSettings: Sendable {
        package var token: TokenHash
        package var value: ClientSettings?

        package init(token: TokenHash, value: ClientSettings?) { (self.token, self.value) = (token, value) }
    }

    package init(
        session: SessionKey, expecting: Subject?, subject: Subject?, kept: [StoredCredential] = [],
        removed: [TokenHash] = [], requires: [TokenHash] = [], tombstoneUntil: Duration = .zero,
        reminders: [StoredReminder] = []
    ) {
        self.reminders = reminders
        (self.session, self.expecting, self.subject, self.kept) = (session, expecting, subject, kept)
        (self.removed, self.requires, self.tombstoneUntil) = (removed, requires, tombstoneUntil)
    }
}

/// A query for sessions.
package enum SessionQuery: Sendable, Hashable {
    /// The session with a public id.
    case id(String)
    /// All sessions of a subject.
    case subject(Subject)
    /// The session that a subject's devices share.
    case shared(Subject)
    /// The space with a name.
    case space(SpaceName)
    /// The keyed spaces of a group in the order of their names, after one that may be gone; nil to begin.
    case spaces(group: String, after: SpaceName?)
}
