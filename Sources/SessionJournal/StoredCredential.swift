import MVI

/// One client's way to a session, beside the token that the session began with: made when somebody signs in.
///
/// A session without any is anonymous, and its own token is good for it. Once it has one, only those that it has are.
package struct StoredCredential: Sendable, Hashable {
    /// Of its token. No two credentials, and no credential and session, have the same.
    package var token: TokenHash
    /// How the client sends the token.
    package var kind: SessionCredential
    /// Tells it from the session's other credentials, also from those that are gone: 1, 2, 3 …
    package var number: Int
    /// Who is signed in with it: JSON of the sessions' own.
    package var principal: [UInt8]
    /// Time since 1970.
    package var made: Duration
    /// Until when the request that replaced it with a newer credential may be repeated: time since 1970. Nil as long as it
    /// is good.
    package var revokedUntil: Duration?

    package init(
        token: TokenHash, kind: SessionCredential, number: Int, principal: [UInt8], made: Duration,
        revokedUntil: Duration? = nil
    ) {
        (self.token, self.kind, self.number, self.principal) = (token, kind, number, principal)
        (self.made, self.revokedUntil) = (made, revokedUntil)
    }
}

/// A change of who may use a session: all of it is kept or nothing.
package struct CredentialChange: Sendable {
    package var session: SessionKey
    /// Whose the session must be now. If it is another's, nothing is kept and the change fails with
    /// `StoreError.Code.contended`.
    package var expecting: Subject?
    /// Whose it is from now on.
    package var subject: Subject?
    /// Added, or put in the place of one with the same token. One whose token is another session's fails the change with
    /// `StoreError.Code.exists`.
    package var kept: [StoredCredential]
    /// Forgotten; those that are not there are passed over.
    package var removed: [TokenHash]
    /// Credentials that the session must have; else nothing is kept and the change fails with `contended`: one that was
    /// signed out meanwhile is not renewed.
    package var requires: [TokenHash]
    /// Until when the tokens of those removed are remembered as ended: time since 1970.
    package var tombstoneUntil: Duration
    /// Set with the change, each in the place of one of the same feature instance and id.
    package var reminders: [StoredReminder]

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

/// Which sessions are looked for.
package enum SessionQuery: Sendable, Hashable {
    /// That with a public id.
    case id(String)
    /// Those of a subject.
    case subject(Subject)
    /// The one that a subject's devices share.
    case shared(Subject)
}
