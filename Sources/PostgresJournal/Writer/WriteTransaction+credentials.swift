import MVI
import PostgreSQL
import SessionJournal

extension WriteTransaction {
    /// Makes a change of credentials, or returns the reason why it is invalid. Checks everything before it writes.
    func make(_ change: CredentialChange, _ sql: Statements) throws -> Result<Void, StoreError> {
        if !change.kept.isEmpty, let refusal = try refusal(toSignIn: change.subject, sql) { return .failure(refusal) }
        let results = try run([sql.lock([change.session])] + sql.credentialState(change))
        guard let session = results[1].first else { return .failure(.sessionGone) }
        let stored = StoredAccess(
            token: try session.token(0), subject: try session.subject(1), isShared: try session.bool(3),
            isSpace: try session.bool(4),
            credentials: try results[2].map { row in (token: try row.token(0), number: Int(try row.int8(1))) })
        let names = Dictionary(
            try results[3].map { row in
                (try row.token(0), try row.optionalInt8(1).map { TokenName.session(SessionKey($0)) } ?? .ended)
            }, uniquingKeysWith: { $1 })
        let ended: [TokenHash]
        switch change.endedTokens(
            stored, name: { names[$0] ?? .unknown }, hasShared: { _ in !results[4].rows.isEmpty })
        {
        case .failure(let refusal): return .failure(refusal)
        case .success(let tokens): ended = tokens
        }
        let settings = try results[2].map { row in (try row.token(0), try row.settings(2)) }
        _ = try commit(sql.make(change.keeping(Dictionary(uniqueKeysWithValues: settings)), ended: ended))
        news.change(change.session)
        return .success(())
    }
}
