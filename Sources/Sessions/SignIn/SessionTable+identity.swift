import EventStream
import Locking
import MVI
import SessionJournal

/// The result of an identify request.
package enum SignInResult: Sendable {
    /// The principal of the credential was renewed.
    case renewed(Session, Credential)
    /// A client signed in to an anonymous session: this credential replaces the one that was used.
    case signedIn(Session, Credential, SessionToken)
}

extension StoreError.Code {
    /// Another subject is signed in.
    package static let otherIdentity = Self("otherIdentity")
}

extension StoreError {
    static let otherIdentity = StoreError(.otherIdentity, "The session belongs to another subject.")
}

/// Sign-in and sign-out. Each change is committed before it is visible.
extension SessionTable {
    /// The time for which the request that signed in may be repeated with the old credential.
    private static let repetition: Duration = .seconds(60)
    /// The maximum number of signed-in clients of a shared session. One more signs the oldest out.
    private static let credentialLimit = 64

    /// Creates a session for a subject, which is stored at once, or joins the one that the subject's devices share.
    ///
    /// Throws the journal's error, or `refused` for claims that cannot be stored.
    package func create(
        _ kind: SessionCredential, for principal: Principal, isShared: Bool, settings: ClientSettings? = nil
    ) async -> Result<(NewSession, Session), StoreError> {
        let token = SessionToken.random()
        do throws(StoreError) {
            try checkIsKept(principal.identity)
            let encoded = try Credential.encode(PrincipalHistory(principal))
            for _ in 0..<8 {
                if isShared, let shared = try await sharedSession(of: principal.identity) {
                    try await join(shared, token, kind, encoded, settings)
                    return .success((NewSession(shared, token, kind), shared))
                }
                do throws(StoreError) {
                    let session = try await make(
                        token, kind, principal.identity, encoded, isShared: isShared, settings)
                    return .success((NewSession(session, token, kind), session))
                } catch {
                    // Another device was first, or its session ended meanwhile.
                    guard isShared, error.code == .exists || error.code == .gone else { throw error }
                }
            }
            throw StoreError(.contended, "The subject's session could not be joined.")
        } catch {
            return .failure(error)
        }
    }

    private func make(
        _ token: SessionToken, _ kind: SessionCredential, _ subject: Subject, _ principal: [UInt8], isShared: Bool,
        _ settings: ClientSettings?
    ) async throws(StoreError) -> Session {
        guard hasRoom else { throw .tooManySessions }
        let now = environment.time.sinceEpoch()
        let record = SessionRecord(
            // Its clients have credentials; no client has the token that it began with.
            id: Epoch.random(), tokenHash: .random(), epoch: Epoch.random(), credential: kind,
            created: now, lastSeen: now, subject: subject, isShared: isShared)
        let credential = StoredCredential(
            token: token.hash, kind: kind, number: 1, principal: principal, made: now, settings: settings)
        _ = try await journal { environment.keptRoom.create(record, credential: credential, from: nil, $0) }
        return try await session(record.tokenHash)
    }

    private func sharedSession(of subject: Subject) async throws(StoreError) -> Session? {
        let found = try await journal { environment.journal.find(.shared(subject), limit: 1, done: $0) }
        guard let record = found.first else { return nil }
        return try await session(record.tokenHash)
    }

    /// Loads a stored session by the hash of the token that it began with.
    private func session(_ hash: TokenHash) async throws(StoreError) -> Session {
        switch await found(hash) {
        case .live(let session, _): return session
        case .damaged(_, let error), .failed(let error): throw error
        case .ended, .unknown: throw .sessionEnded
        }
    }

    func found(_ hash: TokenHash) async -> SessionLookup {
        await awaitResult { find(hash, for: .use, $0) }
    }

    /// Adds a device to a shared session.
    private func join(
        _ session: Session, _ token: SessionToken, _ kind: SessionCredential, _ principal: [UInt8],
        _ settings: ClientSettings?
    ) async throws(StoreError) {
        let known = session.credentials
        let stored = StoredCredential(
            token: token.hash, kind: kind, number: session.nextCredentialNumber(), principal: principal,
            made: environment.time.sinceEpoch(), settings: settings)
        let oldest = known.filter { !$0.isRevoked }.sorted { $0.number < $1.number }
            .prefix(max(0, known.count - Self.credentialLimit + 1))
        try await change(session, kept: [stored], removed: Array(oldest))
    }

    /// Signs in to an anonymous session, or renews the principal of the subject that is signed in.
    ///
    /// - Parameters:
    ///   - token: the request's token.
    ///   - credential: the request's credential; nil if the token is the session's own.
    ///   - proof: the SHA-256 of the identity's proof.
    ///   - keepsStores: true if an anonymous session keeps its stores.
    package func identify(
        _ session: Session, _ token: SessionToken, _ credential: Credential?, as principal: Principal, proof: [UInt8],
        keepsStores: Bool = true
    ) async -> Result<SignInResult, StoreError> {
        do throws(StoreError) {
            try checkIsKept(principal.identity)
            if let credential, !credential.isRevoked {
                return .success(try await renew(session, credential, principal))
            }
            let successor = try await journal { withSeal($0) }.successor(of: token, proof: proof)
            if credential == nil, !session.isSignedIn {
                do throws(StoreError) {
                    return .success(try await signIn(session, successor, principal, keepsStores: keepsStores))
                } catch {
                    // Another request signed in meanwhile; it may be a repetition of this one.
                    guard error.code == .contended || error.code == .exists else { throw error }
                    await session.caughtUp()
                    // No: its own turns conflicted with others.
                    guard session.isSignedIn else { throw error }
                }
            }
            let result = try repeated(session, successor, principal)
            await session.tellStores()
            return .success(result)
        } catch {
            return .failure(error)
        }
    }

    private func renew(
        _ session: Session, _ credential: Credential, _ principal: Principal
    ) async throws(StoreError) -> SignInResult {
        guard session.info.subject == principal.identity else { throw .otherIdentity }
        // Before it restricts the client.
        _ = try Credential.encode(PrincipalHistory(principal))
        let renewal = session.restrict(credential, to: principal)
        await credential.beginRenewing()
        defer { credential.endRenewing(renewal) }
        // Appends of other nodes were published before it.
        if environment.lease != nil { await session.caughtUp() }
        let history = session.history(of: credential, renewedBy: renewal)
        try await keep(history, of: credential, session)
        guard !credential.isRevoked else { throw .signedOut }
        let present = session.renew(credential, by: renewal)
        session.identityChanged(of: credential)
        // Labels were published during the commit.
        if present != history { try await keep(present, of: credential, session) }
        // Another node's renewal may have been committed after it.
        if environment.lease != nil { session.catchUp() }
        return .renewed(session, credential)
    }

    private func keep(
        _ history: PrincipalHistory, of credential: Credential, _ session: Session
    ) async throws(StoreError) {
        try await change(
            session, kept: [try credential.renewed(history, now: environment.time.sinceEpoch())],
            requires: [credential.hash])
    }

    private func signIn(
        _ session: Session, _ token: SessionToken, _ principal: Principal, keepsStores: Bool
    ) async throws(StoreError) -> SignInResult {
        let encoded = try Credential.encode(PrincipalHistory(principal))
        session.beginSignIn()
        // Until the change of credentials, nothing of it can be in the journal.
        var isCertain = true
        do throws(StoreError) {
            return try await signIn(session, token, principal, encoded, keepsStores: keepsStores) { isCertain = false }
        } catch {
            session.endSignIn(isCertain: isCertain || error.isRefusalOfChange)
            throw error
        }
    }

    /// - Parameter begun: called before the change of credentials.
    private func signIn(
        _ session: Session, _ token: SessionToken, _ principal: Principal, _ encoded: [UInt8], keepsStores: Bool,
        begun: () -> Void
    ) async throws(StoreError) -> SignInResult {
        if !keepsStores { try await journal { session.disposeAll($0) } }
        let now = environment.time.sinceEpoch()
        let old = StoredCredential(
            token: session.tokenHash, kind: session.credential, number: 1, principal: [], made: session.created,
            revokedUntil: now + Self.repetition)
        let new = StoredCredential(
            token: token.hash, kind: session.credential,
            number: keepsStores ? 2 : StoredCredential.ofAnotherPerson, principal: encoded, made: now,
            settings: session.settings(of: SessionClient()))
        _ = try await journal { session.keep($0) }
        // No store is created between listing the stores to tell and the sign-in.
        let turns = try await session.holdTurns()
        defer { turns.release() }
        let reminders = try session.signInReminders(principal, credential: new.number)
        begun()
        try await change(session, subject: principal.identity, kept: [old, new], reminders: reminders)
        guard let credential = session.credentials.first(where: { $0.hash == token.hash }) else { throw .sessionEnded }
        turns.release()
        if !reminders.isEmpty { await session.tellStores() }
        return .signedIn(session, credential, token)
    }

    /// The answer to a repeated sign-in.
    private func repeated(
        _ session: Session, _ token: SessionToken, _ principal: Principal
    ) throws(StoreError) -> SignInResult {
        let credentials = session.credentials
        let now = environment.time.sinceEpoch()
        guard let old = credentials.first(where: { $0.hash == session.tokenHash }), old.mayBeRepeated(now: now),
            let new = credentials.first(where: { $0.hash == token.hash }), !new.isRevoked
        else { throw session.info.subject == principal.identity ? .sessionEnded : .otherIdentity }
        return .signedIn(session, new, token)
    }

    /// Signs a client out. Ends the session with its last client if it is not shared, or with `everywhere`.
    package func end(
        _ session: Session, _ client: SessionClient, everywhere: Bool,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        if let refusal = session.refusalToEnd(of: client, everywhere: everywhere) {
            return completion(.failure(refusal))
        }
        guard let credential = client.credential, session.isShared, !everywhere else {
            return end(session, completion: completion)
        }
        // At once, not when the task runs.
        session.close([credential])
        Task(executorPreference: environment.executor) { [self] in
            do throws(StoreError) {
                try await change(session, removed: [credential])
                completion(.success(()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    // MARK: Committing

    /// Commits a change of access to a session, then applies it. With reminders, the session's turns are held.
    func change(
        _ session: Session, subject: Subject? = nil, kept: [StoredCredential] = [], removed: [Credential] = [],
        requires: [TokenHash] = [], reminders: [StoredReminder] = [],
        settings: CredentialChange.NewSettings? = nil
    ) async throws(StoreError) {
        let now = environment.time.sinceEpoch()
        let old = session.credentials.filter { $0.isRevoked && !$0.mayBeRepeated(now: now) }
        session.close(removed)
        let key = try await journal { session.keep($0) }
        let expected = session.info.subject
        var change = CredentialChange(
            session: key, expecting: expected, subject: subject ?? expected, kept: kept,
            removed: (removed + old).map(\.hash), requires: requires, tombstoneUntil: tombstoneUntil(session),
            reminders: reminders)
        change.settings = settings
        try await journal { [change] in environment.journal.change(change, done: $0) }
        // As in the journal now, unless another node changed it as well; the next look finds that.
        session.core.withLock { $0.accessChanges += 1 }
        session.note(reminders)
        let gone = removed + old
        let added = session.apply(kept, subject: subject, removed: gone)
        unregister(gone)
        // Except the token that the session began with: by it the session is found, for its new credentials.
        for credential in gone where credential.hash != session.tokenHash { bury(credential.hash) }
        for credential in added { register(credential) }
        // Another object has replaced this one in memory and may have been loaded before the change, whose answer has to
        // hold for it, too.
        if session.hasLeft { await awaitResult { find(session.tokenHash, for: .look, $0) }.session?.caughtUp() }
    }

    private func journal<Value: Sendable>(
        _ body: (@escaping Done<Value>) -> Void
    ) async throws(StoreError) -> Value {
        try await awaitResult(body).get()
    }
}

extension StoreError {
    /// True if a change of credentials that failed with it is certainly not in the journal.
    fileprivate var isRefusalOfChange: Bool {
        [.full, .refused, .tooManySessions, .contended, .exists, .gone, .invalid].contains(code)
    }
}

extension NewSession {
    fileprivate init(_ session: Session, _ token: SessionToken, _ kind: SessionCredential) {
        self.init(
            id: session.id, token: token, credential: kind,
            expiresAt: session.shared.time.sinceEpoch() + session.shared.limits.credentialLife)
    }
}
