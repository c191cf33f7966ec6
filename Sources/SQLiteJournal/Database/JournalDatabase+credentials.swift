import MVI
import SQLite
import SessionJournal

/// Credentials and subjects, inside an open transaction. Everything is checked before anything is written, so a failure
/// needs no rollback.
extension JournalDatabase {
    /// Makes a change, or returns the reason why it is invalid.
    func change(_ change: CredentialChange, limit: Int) throws -> Result<Void, StoreError> {
        let key = SQLiteValue.integer(change.session.number)
        let session = try connection.first("SELECT token, issuer, subject, shared FROM sessions WHERE key = ?", [key]) {
            (token: try $0.blob(0), subject: try $0.subject(1), isShared: try $0.int(3) != 0)
        }
        guard let session else { return .failure(.sessionGone) }
        let old = try connection.query("SELECT token, number FROM credentials WHERE session = ?", [key]) { row in
            (token: try row.token(0), number: try row.int(1))
        }
        if let fault = change.fault(subject: session.subject, credentials: old) { return .failure(fault) }
        for credential in change.kept {
            if let owner = try owner(of: credential.token) {
                if owner != change.session { return .failure(.tokenIsUsed) }
            } else if try isBuried(credential.token) {
                return .failure(.credentialsChanged)
            }
        }
        let isOthers = !Subject.isSame(change.subject, session.subject)
        if isOthers {
            if session.isShared, let subject = change.subject, try hasShared(subject) { return .failure(.sharedExists) }
            try connection.execute(
                "UPDATE sessions SET issuer = ?, subject = ? WHERE key = ?",
                [SQLiteValue(change.subject?.issuer), SQLiteValue(change.subject?.id), key])
        }
        for token in change.removed {
            let count = try delete(token, of: change.session)
            // The session's own token still names it.
            guard count > 0, token.bytes != session.token else { continue }
            try bury(token.bytes, until: change.tombstoneUntil, limit: limit)
        }
        for credential in change.kept { try delete(credential.token, of: change.session) }
        for credential in change.kept { try insert(credential, of: change.session) }
        if !change.reminders.isEmpty { try write(change.reminders.map { .set($0) }, of: change.session) }
        return .success(())
    }

    func insert(_ credential: StoredCredential, of session: SessionKey) throws(SQLiteError) {
        try connection.execute(
            """
            INSERT INTO credentials (session, number, token, kind, made, seen, revoked_until, principal)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(session.number), .integer(credential.number), .blob(credential.token.bytes),
                .text(credential.kind.rawValue), .time(credential.made), .time(credential.lastSeen),
                credential.revokedUntil.map { .time($0) } ?? .null, .blob(credential.principal),
            ])
    }

    @discardableResult
    private func delete(_ token: TokenHash, of session: SessionKey) throws(SQLiteError) -> Int {
        try connection.execute(
            "DELETE FROM credentials WHERE token = ? AND session = ?",
            [.blob(token.bytes), .integer(session.number)])
    }

    /// Returns the session with a token, or nil.
    func owner(of token: TokenHash) throws -> SessionKey? {
        let key = try connection.first("SELECT key FROM sessions WHERE token = ?", [.blob(token.bytes)]) { row in
            SessionKey(try row.integer(0))
        }
        return try key ?? connection.session(ofCredential: token)
    }

    /// True if a token is remembered as ended.
    func isBuried(_ token: TokenHash) throws -> Bool {
        try connection.first("SELECT 1 FROM tombstones WHERE token = ?", [.blob(token.bytes)]) { try $0.int(0) } != nil
    }

    /// True if a subject has a shared session.
    func hasShared(_ subject: Subject) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM sessions WHERE subject = ? AND issuer = ? AND shared = 1",
            [.text(subject.id), .text(subject.issuer)]
        ) { try $0.int(0) } != nil
    }
}

extension Row {
    /// Reads a token's hash.
    fileprivate func token(_ column: Int) throws -> TokenHash {
        let bytes = try blob(column)
        guard bytes.count == 32 else { throw StoreError(.unavailable, "The journal's row of a credential is damaged.") }
        return TokenHash(bytes)
    }
}
