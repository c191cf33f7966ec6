import MVI
import SessionJournal

/// What a token names.
package enum SessionLookup: Sendable {
    /// A session, and the credential that the token is; nil if nobody has signed in.
    case live(Session, Credential?)
    /// A session that was deleted or has expired not long ago.
    case ended
    /// Nothing.
    case unknown
    /// A session of which the journal has rows that no server wrote, and what is wrong with them: it can be ended.
    case damaged(Session, StoreError)
    /// It is not known: what sessions are kept in cannot be read.
    case failed(StoreError)
}

extension SessionLookup {
    /// The session that is there, in whatever condition.
    package var session: Session? {
        switch self {
        case .live(let session, _), .damaged(let session, _): session
        case .ended, .unknown, .failed: nil
        }
    }
}

extension SessionLookup {
    /// A session's own token is not good for a client any more when somebody has signed in.
    var forClient: SessionLookup {
        if case .live(let session, nil) = self, session.isSignedIn { .ended } else { self }
    }
}

extension Session {
    func lookup(_ credential: Credential?) -> SessionLookup {
        fault.map { .damaged(self, $0) } ?? .live(self, credential)
    }
}

/// A session that was made for a client: nothing of it is kept anywhere but its token.
package struct NewSession: Sendable {
    package let id: String
    package let token: SessionToken
    package let credential: SessionCredential
    /// When it ends if it is not used: time since 1970.
    package let expiresAt: Duration

    package init(id: String, token: SessionToken, credential: SessionCredential, expiresAt: Duration) {
        (self.id, self.token, self.credential, self.expiresAt) = (id, token, credential, expiresAt)
    }
}
