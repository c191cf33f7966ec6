import MVI
import SessionJournal

/// What the journal has of a session that is not known here.
enum SessionNews {
    case found(StoredSession)
    /// The journal has no such session.
    case gone
    /// It cannot be used, and it does not help to ask again: rows of it are damaged, or the journal was closed.
    case unusable(StoreError)
}

extension Session {
    /// Loads what is newer than the head, as often as it takes.
    ///
    /// - Parameter failures: how often that failed already.
    func load(after failures: Int = 0, then: @escaping @Sendable (SessionNews) -> Void) {
        loadOnce { [self] result in
            switch result {
            case .success(let news): then(news)
            case .failure(let error) where error.code == .closed: then(.unusable(error))
            case .failure(let error):
                if let refusal = core.withLock({ $0.refusal }) { return then(.unusable(refusal)) }
                report(error, after: failures)
                tryAgain(after: failures + 1) { [self] in load(after: failures + 1, then: then) }
            }
        }
    }

    /// Loads what is newer than the head, if the journal says so now. Nothing in it is older than what is known here of who
    /// may use the session.
    func loadOnce(_ done: @escaping Done<SessionNews>) {
        let (head, generation) = core.withLock { ($0.head, $0.accessGeneration) }
        keep { [self] result in
            switch result {
            case .success(let key):
                shared.journal.load(key, since: head) { [self] result in
                    guard core.withLock({ $0.accessGeneration }) == generation else { return loadOnce(done) }
                    switch result {
                    case .success(let found): done(.success(judge(found)))
                    case .failure(let error): examine(error, done)
                    }
                }
            case .failure(let error) where error.code == .gone: done(.success(.gone))
            case .failure(let error): done(.failure(error))
            }
        }
    }

    /// What was loaded by the session's key. That may name another session by now, as after a restore: this one is gone then.
    private func judge(_ found: StoredSession?) -> SessionNews {
        guard let found, found.record.tokenHash == tokenHash else { return .gone }
        return found.fault.map { .unusable($0) } ?? .found(found)
    }

    /// Rows that nothing can be read from look like a journal that cannot be read. Asked by the token it knows which it is.
    private func examine(_ error: StoreError, _ done: @escaping Done<SessionNews>) {
        shared.journal.load(tokenHash, now: shared.time.sinceEpoch()) { result in
            guard case .success(.damaged(_, let reason)) = result else { return done(.failure(error)) }
            done(.success(.unusable(.damaged("of a session cannot be read: \(reason)"))))
        }
    }

    /// The journal has no such session: it was ended, or the journal lost it, as in a restore. In memory it ends. Hands over
    /// what requests under way are told: of a session that was lost, to come again, since its token may begin anew.
    func gone(_ done: @escaping @Sendable (StoreError) -> Void) {
        guard shared.sharedJournal != nil else {
            end(.ended)
            return done(.sessionEnded)
        }
        shared.journal.load(tokenHash, now: shared.time.sinceEpoch()) { [self] result in
            if case .success(.ended) = result {
                end(.ended)
                done(.sessionEnded)
            } else {
                leave()
                done(.evicted)
            }
        }
    }

    /// Calls `body` after a pause that grows with the number of failures.
    func tryAgain(after failures: Int, _ body: @escaping @Sendable () -> Void) {
        let pause = environment.pause(afterFailures: failures)
        Task(executorPreference: shared.executor) { [clock = shared.clock] in
            // Nothing cancels it.
            try? await clock.sleep(for: pause)
            body()
        }
    }

    /// Reports the first failure of several in a row.
    func report(_ error: StoreError, after failures: Int) {
        if failures == 0 { shared.report(.commitFailed(error, in: StorePlace(instance: "", session: id))) }
    }
}
