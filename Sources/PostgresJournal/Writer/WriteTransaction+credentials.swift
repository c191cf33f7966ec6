import MVI
import PostgreSQL
import SessionJournal

extension WriteTransaction {
    /// Makes a change of credentials, or returns the reason why it is invalid. Checks everything before it writes.
    func make(_ change: CredentialChange, _ sql: Statements) throws -> Result<Void, StoreError> {
        if !change.kept.isEmpty, let refusal = try refusal(toSignIn: change.subject, sql) { return .failure(refusal) }
        let results = try run([sql.lock([change.session])] + sql.credentialState(change))
        guard let session = results[1].first else { return .failure(.sessionGone) }
        let (own, owner, isShared) = (try session.token(0), try session.subject(1), try session.bool(3))
        let old = try results[2].map { row in (token: try row.token(0), number: Int(try row.int8(1))) }
        if let fault = change.fault(subject: owner, credentials: old) { return .failure(fault) }
        for row in results[3].rows {
            // Remembered as ended, or another session's.
            guard let session = try row.optionalInt8(1) else { return .failure(.credentialsChanged) }
            if session != change.session.number { return .failure(.tokenIsUsed) }
        }
        if isShared, change.subject != nil, !Subject.isSame(change.subject, owner), !results[4].rows.isEmpty {
            return .failure(.sharedExists)
        }
        let had = Set(old.map(\.token))
        let ended = change.removed.filter { had.contains($0) && $0 != own }
        _ = try commit(sql.make(change, ended: ended))
        news.change(change.session)
        return .success(())
    }
}
