import Locking
import MVI
import Networks
import SessionJournal

/// A session is stored with its first turn. Until then only its token represents it.
extension Session {
    /// Stores the session in the journal if it is not there. `done` receives its key.
    func keep(_ done: @escaping @Sendable (Result<SessionKey, StoreError>) -> Void) {
        let now = Moment(shared.time)
        typealias New = (record: SessionRecord, origin: PeerAddress?, generation: [UInt8]?)
        let (key, new) = core.withLock { core -> (SessionKey?, New?) in
            if let key = core.key { return (key, nil) }
            let rare = core.makeRare()
            defer { rare.keepers = (rare.keepers ?? []) + [done] }
            guard rare.keepers == nil else { return (nil, nil) }
            return (nil, (record(core, now), rare.origin, rare.generation))
        }
        if let key { return done(.success(key)) }
        guard let new else { return }
        shared.keptRoom.create(new.record, of: new.generation, from: new.origin) { [self] result in
            if case .failure(let error) = result, error.code == .exists { return findKept(error) }
            if case .success = result { takePlace(new.origin) }
            kept(result)
            // Another object has the epoch that its token names now.
            if case .failure(let error) = result, error.code == .contended { leave() }
        }
    }

    /// The record with which the journal begins to store the session.
    private func record(_ core: SessionCore, _ now: Moment) -> SessionRecord {
        SessionRecord(
            id: id, tokenHash: tokenHash, epoch: core.epoch, credential: credential, created: created,
            lastSeen: max(created, now.sinceEpoch(core.lastTouch)), space: space,
            settings: core.settings)
    }

    /// The record if the session exists only in memory; otherwise nil.
    var unkeptRecord: SessionRecord? {
        let now = Moment(shared.time)
        return core.withLock { $0.isLive && $0.key == nil ? record($0, now) : nil }
    }

    private func takePlace(_ origin: PeerAddress?) {
        let place = shared.keptRoom.take(for: origin)
        let isLive = core.withLock { core in
            if core.isLive { core.keptPlace = place }
            return core.isLive
        }
        // Until it leaves memory.
        if isLive { place?.onGiveWay { self.giveWay() } }
    }

    /// Another process stored it first, or this one did before the outcome of its last append was known.
    private func findKept(_ error: StoreError) {
        shared.journal.load(tokenHash, now: shared.time.sinceEpoch()) { [self] result in
            switch result {
            case .success(.found(let stored)) where space != nil && stored.record.id != id:
                // Another node made the space; its name leads there.
                kept(.failure(.evicted))
                leave()
            case .success(.found(let stored)): kept(.success(stored.key))
            case .success(.ended): kept(.failure(.sessionGone))
            case .success(.damaged(_, let reason)):
                let error = StoreError.damaged("of a session cannot be read: \(reason)")
                kept(.failure(error))
                leave(error)
            // Its id is another session's: a probability of 2 to the power of -64.
            case .success(.unknown): kept(.failure(error))
            case .failure(let failure): kept(.failure(failure))
            }
        }
    }

    private func kept(_ result: Result<SessionKey, StoreError>) {
        // Before it can leave memory, which it does not while it is being stored.
        if shared.sharedJournal != nil, case .success(let key) = result {
            shared.index.withLock { $0[key] = tokenHash }
        }
        let (keepers, isLive) = core.withLock { core in
            core.key = try? result.get()
            let keepers = core.rare?.keepers.take() ?? []
            if core.key != nil {
                core.rare?.origin = nil
                core.rare?.generation = nil
            }
            core.rest()
            return (keepers, core.isLive)
        }
        // It ended meanwhile.
        if shared.sharedJournal != nil, !isLive, case .success(let key) = result {
            shared.index.withLock { $0[key] = nil }
        }
        for keeper in keepers { keeper(result) }
    }
}

/// The result of loading what the journal has of a session beyond the local head.
enum SessionNews {
    case found(StoredSession)
    /// The journal has no such session.
    case gone
    /// The session cannot be used, and a retry does not help: rows are damaged, or the journal was closed.
    case unusable(StoreError)
}

extension Session {
    /// Loads the turns after the local head, with as many attempts as needed. Called by the queue's runner, and nothing of
    /// the queue runs until `then`. After two seconds the intents that wait are refused, and later ones at once.
    ///
    /// - Parameter results: of the batch whose end waits for the news; its clients are answered without it then.
    func load(for results: ShortList<JobResult> = [], then: @escaping @Sendable (SessionNews) -> Void) {
        let doubt = Doubt()
        let goOn = { @Sendable [queue] (news: SessionNews) in
            queue.admit()
            then(news)
        }
        loadAgain(after: 0) { news in if doubt.end(with: news) { goOn(news) } }
        guard doubt.isOpen else { return }
        shared.after(Doubt.patience) { [self] in
            guard doubt.beginAnswers() else { return }
            for result in results { result.job.outcomeIsLate(.journalIsLate) }
            for job in queue.refuse(.journalIsLate) { job.end(.journalIsLate) }
            if let news = doubt.endAnswers() { goOn(news) }
        }
    }

    /// - Parameter failures: the number of failed attempts.
    private func loadAgain(after failures: Int, then: @escaping @Sendable (SessionNews) -> Void) {
        loadOnce { [self] result in
            switch result {
            case .success(let news): then(news)
            case .failure(let error) where error.code == .closed: then(.unusable(error))
            case .failure(let error):
                if let refusal = core.withLock({ $0.refusal }) { return then(.unusable(refusal)) }
                report(error, after: failures)
                tryAgain(after: failures + 1) { [self] in loadAgain(after: failures + 1, then: then) }
            }
        }
    }

    /// Loads the turns after the local head in one attempt. The credentials in the result are never older than those
    /// known here.
    func loadOnce(_ done: @escaping Done<SessionNews>) {
        let generation = accessGeneration.load(ordering: .acquiring)
        let head = core.withLock { $0.head }
        keep { [self] result in
            switch result {
            case .success(let key):
                shared.journal.load(key, since: head) { [self] result in
                    guard accessGeneration.load(ordering: .acquiring) == generation else { return loadOnce(done) }
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

    /// Judges a session that was loaded by key. After a restore the key may name another session; this one is gone
    /// then.
    private func judge(_ found: StoredSession?) -> SessionNews {
        guard let found, found.record.tokenHash == tokenHash else { return .gone }
        return found.fault.map { .unusable($0) } ?? .found(found)
    }

    /// Unreadable rows look like an unreadable journal. A look-up by token tells the two apart.
    private func examine(_ error: StoreError, _ done: @escaping Done<SessionNews>) {
        shared.journal.load(tokenHash, now: shared.time.sinceEpoch()) { result in
            guard case .success(.damaged(_, let reason)) = result else { return done(.failure(error)) }
            done(.success(.unusable(.damaged("of a session cannot be read: \(reason)"))))
        }
    }

    /// Ends the session in memory, since the journal has no such session: it was ended, or lost as in a restore. `done`
    /// receives the error for requests under way: for a lost session, to come again, since its token may begin anew.
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
        shared.after(environment.pause(afterFailures: failures), body)
    }

    /// Reports the first of several failures in a row.
    func report(_ error: StoreError, after failures: Int) {
        if failures == 0 { shared.report(.commitFailed(error, in: StorePlace(instance: "", session: id))) }
    }
}

extension Session {
    /// Ends a batch without an append if no other node appended meanwhile; otherwise its jobs run again.
    func confirm(_ pending: PendingCommit) {
        hasMoved { [self] result in
            switch result {
            case .success(false):
                core.withLock { core in for entry in pending.entries where entry.hasStarted { core.started(entry) } }
                ended(pending.end(.committed, .committed))
            // The results may be out of date, so they are not sent; steps are retried.
            case .failure(let error): ended(pending.end(.failed(error), .rolledBack))
            case .success(true):
                let undone = pending.end(.conflict, .rolledBack)
                readNews(for: undone.results) { [self] in ended(($0 ?? .conflict, undone.results, [])) }
            }
        }
    }

    /// Applies the appends of other nodes. `done` receives the batch's outcome if the session has ended.
    func readNews(
        for results: ShortList<JobResult> = [], _ done: @escaping @Sendable (CommitOutcome?) -> Void
    ) {
        load(for: results) { [self] in apply($0, done) }
    }

    /// Applies what the journal has.
    func apply(_ news: SessionNews, _ done: @escaping @Sendable (CommitOutcome?) -> Void) {
        switch news {
        case .gone: gone { done(.failed($0)) }
        case .unusable(let reason):
            leave(reason)
            done(.failed(reason))
        case .found(let news): apply(news) { done(nil) }
        }
    }

    /// Loads the appends of other writers, then calls `done`. Called after the wait that follows a conflict: a batch on
    /// an older state would conflict again with a writer that does not wait.
    func loadNewer(_ done: @escaping @Sendable () -> Void) {
        guard shared.lease != nil else { return done() }
        readNews { _ in done() }
    }
}
