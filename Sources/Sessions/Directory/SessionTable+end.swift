import EventStream
import Locking
import MVI
import SessionJournal

/// How sessions end.
extension SessionTable {
    /// Ends a session as soon as the journal has forgotten it, and remembers for a while that it was there.
    package func end(_ session: Session, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        session.closeAll()
        let (key, isBeingKept) = session.core.withLock { ($0.key, $0.keepers != nil) }
        let until = tombstoneUntil(session)
        if key == nil, !isBeingKept {
            // One that is not kept would come back with its token.
            return environment.journal.bury(session.tokenHash, until: until) { [self] result in
                guard case .success = result else { return completion(result) }
                // A turn that was under way may have had it kept meanwhile. From now on none can.
                let isKept = session.core.withLock { $0.key != nil || $0.keepers != nil }
                if isKept { forgetKept(session, until, completion) } else { ended(session, result, completion) }
            }
        }
        forgetKept(session, until, completion)
    }

    private func forgetKept(
        _ session: Session, _ until: Duration, _ completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        session.keep { [self] result in
            switch result {
            case .failure(let failure) where failure.code == .gone: ended(session, .success(()), completion)
            case .failure(let failure): completion(.failure(failure))
            case .success(let key):
                environment.journal.remove(key, tombstoneUntil: until) { [self] result in
                    ended(session, result, completion)
                }
            }
        }
    }

    private func ended(
        _ session: Session, _ result: Result<Void, StoreError>,
        _ completion: @Sendable (Result<Void, StoreError>) -> Void
    ) {
        if case .success = result { remove(session, .ended) }
        completion(result)
    }

    /// Ends a session whose time is over. If the journal cannot forget it now it will later, by itself.
    func expire(_ session: Session) {
        remove(session, .expired)
        forget(session)
    }

    func forget(_ session: Session) {
        guard let key = session.core.withLock({ $0.key }) else { return }
        environment.journal.remove(key, tombstoneUntil: tombstoneUntil(session)) { _ in }
    }

    /// Until its token would not prove anything any more.
    func tombstoneUntil(_ session: Session) -> Duration {
        max(
            lifeTime(Moment(environment.time)) + environment.limits.tombstoneLife,
            session.created + environment.limits.sessionLife)
    }

    /// Forgets an object that has ended or left: the journal says what its token names now.
    func drop(_ session: Session) {
        let isThere = shard(session.tokenHash).withLock { shard in
            guard shard.sessions[session.tokenHash] === session else { return false }
            shard.sessions[session.tokenHash] = nil
            forgetKey(of: session)
            return true
        }
        guard isThere else { return }
        unregister(session.credentials)
        places.leave()
    }

    private func remove(_ session: Session, _ reason: GoAwayReason) {
        let hash = session.tokenHash
        // It may have left memory and come back meanwhile, as another object.
        let until = tombstoneEnd
        let there = shard(hash).withLock { shard in
            let there = shard.sessions.removeValue(forKey: hash)
            if let there { forgetKey(of: there) }
            // At once: what a token names may just be being loaded.
            shard.bury(hash, until: until, limit: tombstoneLimit)
            return there
        }
        let credentials = (there ?? session).credentials
        for credential in credentials { bury(credential.hash) }
        if let there {
            unregister(credentials)
            places.leave()
            if there !== session { there.end(reason) }
        }
        session.end(reason)
    }

    private var tombstoneEnd: Duration { environment.time.monotonic() + environment.limits.tombstoneLife }
    private var tombstoneLimit: Int { max(1, environment.limits.sessions / Self.shardCount) }

    func bury(_ hash: TokenHash) {
        let until = tombstoneEnd
        shard(hash).withLock { $0.bury(hash, until: until, limit: tombstoneLimit) }
    }
}
