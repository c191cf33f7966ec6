import MVI
import SQLite
import SessionJournal

/// Credentials and subjects, inside an open transaction. Everything is checked before anything is written, so a failure
/// needs no rollback.
extension JournalDatabase {
    /// Makes a change, or returns the reason why it is invalid.
    func change(_ change: CredentialChange, limit: Int) throws -> Result<Void, StoreError> {
        let key = SQLiteValue.integer(change.session.number)
        let credentials = try connection.query("SELECT token, number, client FROM credentials WHERE session = ?", [key])
        {
            row in
            (token: try row.token(0), number: try row.int(1), settings: try row.settings(2))
        }
        let stored = try connection.first(
            "SELECT token, issuer, subject, shared, space IS NOT NULL FROM sessions WHERE key = ?", [key]
        ) {
            StoredAccess(
                token: try $0.token(0), subject: try $0.subject(1), isShared: try $0.int(3) != 0,
                isSpace: try $0.int(4) != 0, credentials: credentials.map { ($0.token, $0.number) })
        }
        guard let stored else { return .failure(.sessionGone) }
        let ended: [TokenHash]
        switch try change.endedTokens(stored, name: name, hasShared: hasShared) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let tokens): ended = tokens
        }
        if !Subject.isSame(change.subject, stored.subject) {
            try connection.execute(
                "UPDATE sessions SET issuer = ?, subject = ? WHERE key = ?",
                [SQLiteValue(change.subject?.issuer), SQLiteValue(change.subject?.id), key])
        }
        for token in change.removed { try delete(token, of: change.session) }
        for token in ended { try bury(token.bytes, until: change.tombstoneUntil, limit: limit) }
        for credential in change.kept { try delete(credential.token, of: change.session) }
        let kept = change.keeping(Dictionary(uniqueKeysWithValues: credentials.map { ($0.token, $0.settings) })).kept
        for credential in kept { try insert(credential, of: change.session) }
        if let settings = change.settings { try set(settings, of: change.session) }
        if let subject = change.subject { try connection.signIn(change.session, subject) }
        if !change.reminders.isEmpty { try write(change.reminders.map { .set($0) }, of: change.session) }
        return .success(())
    }

    func insert(_ credential: StoredCredential, of session: SessionKey) throws(SQLiteError) {
        try connection.execute(
            """
            INSERT INTO credentials (session, number, token, kind, made, seen, revoked_until, principal, client)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(session.number), .integer(credential.number), .blob(credential.token.bytes),
                .text(credential.kind.rawValue), .time(credential.made), .time(credential.lastSeen),
                credential.revokedUntil.map { .time($0) } ?? .null, .blob(credential.principal),
                SQLiteValue(credential.settings?.text),
            ])
    }

    private func set(_ settings: CredentialChange.NewSettings, of session: SessionKey) throws(SQLiteError) {
        for table in ["sessions", "credentials"] {
            try connection.execute(
                "UPDATE \(table) SET client = ? WHERE token = ? AND \(table == "sessions" ? "key" : "session") = ?",
                [SQLiteValue(settings.value?.text), .blob(settings.token.bytes), .integer(session.number)])
        }
    }

    private func delete(_ token: TokenHash, of session: SessionKey) throws(SQLiteError) {
        try connection.execute(
            "DELETE FROM credentials WHERE token = ? AND session = ?",
            [.blob(token.bytes), .integer(session.number)])
    }

    func name(_ token: TokenHash) throws -> TokenName {
        let key = try connection.first("SELECT key FROM sessions WHERE token = ?", [.blob(token.bytes)]) { row in
            SessionKey(try row.integer(0))
        }
        if let owner = try key ?? connection.session(ofCredential: token) { return .session(owner) }
        let isEnded = try connection.first("SELECT 1 FROM tombstones WHERE token = ?", [.blob(token.bytes)]) {
            try $0.int(0)
        }
        return isEnded == nil ? .unknown : .ended
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
