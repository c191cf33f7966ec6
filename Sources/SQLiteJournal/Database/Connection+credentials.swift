import MVI
import SQLite
import SessionJournal

/// Reads of subjects and credentials, inside a transaction.
extension Connection {
    /// Returns the session that has a credential with a token, or nil.
    mutating func session(ofCredential token: TokenHash) throws -> SessionKey? {
        try first("SELECT session FROM credentials WHERE token = ?", [.blob(token.bytes)]) { row in
            SessionKey(try row.integer(0))
        }
    }

    mutating func credentials(of session: SessionKey) throws -> [StoredCredential] {
        try query(
            """
            SELECT number, token, kind, made, revoked_until, principal, max(made, seen), client FROM credentials
            WHERE session = ? ORDER BY number
            """, [.integer(session.number)]
        ) { row in try row.credential() }
    }

    mutating func find(_ query: SessionQuery, limit: Int) throws -> [SessionRecord] {
        let values = query.values + [.integer(max(0, limit))]
        let records = try self.query(Self.findSQL(query), values) { row -> SessionRecord? in
            do { return try row.sessionRecord(lastSeen: 10) } catch {
                guard Self.isOfValue(error) else { throw error }
                return nil
            }
        }
        return records.compactMap(\.self)
    }

    static func findSQL(_ query: SessionQuery) -> String {
        let condition =
            switch query {
            case .id: "id = ?"
            case .subject: "subject = ? AND issuer = ? ORDER BY key"
            case .shared: "subject = ? AND issuer = ? AND shared = 1"
            case .space: "space = ?"
            case .spaces: "space > ? AND space < ? ORDER BY space"
            }
        // An append notes its time only in its store's row.
        return """
            SELECT \(recordColumns), max(last_seen, coalesce(
                (SELECT max(time) FROM stores WHERE stores.id >= key << 16 AND stores.id < (key + 1) << 16), last_seen))
            FROM sessions WHERE \(condition) LIMIT ?
            """
    }
}

extension SessionQuery {
    fileprivate var values: [SQLiteValue] {
        switch self {
        case .id(let id): [.text(id)]
        case .subject(let subject), .shared(let subject): [.text(subject.id), .text(subject.issuer)]
        case .space(let space): [.text(space.text)]
        case .spaces(let group, let after): [.text(max("\(group):", after?.text ?? "")), .text("\(group);")]
        }
    }
}

extension Row {
    fileprivate func credential() throws -> StoredCredential {
        let token = try blob(1)
        guard token.count == 32, let kind = SessionCredential(rawValue: try text(2)) else {
            throw StoreError(.unavailable, "The journal's row of credential \(try integer(0)) is damaged.")
        }
        return StoredCredential(
            token: TokenHash(token), kind: kind, number: try int(0), principal: try blob(5), made: try time(3),
            lastSeen: try time(6), revokedUntil: try isNull(4) ? nil : time(4), settings: try settings(7))
    }

    /// Reads the values that a client has set. Those of no meaning here are none.
    func settings(_ column: Int) throws -> ClientSettings? {
        try optionalText(column).flatMap { ClientSettings(text: $0) }
    }
}
