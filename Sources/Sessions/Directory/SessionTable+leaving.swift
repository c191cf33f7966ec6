import EventStream
import Locking
import MVI
import SessionJournal

/// The end of sessions.
extension SessionTable {
    /// Ends a session when the journal has deleted it, and records its end for a while.
    package func end(_ session: Session, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        session.tellLastMessages { [self] in endNow(session, completion) }
    }

    private func endNow(
        _ session: Session, _ completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        session.closeAll()
        let (key, isBeingKept, origin) = session.core.withLock { ($0.key, $0.rare?.keepers != nil, $0.rare?.origin) }
        let whole = tombstoneUntil(session)
        if key == nil, !isBeingKept, session.space != nil { return ended(session, .success(()), completion) }
        if key == nil, !isBeingKept {
            // A session that is not stored would come back with its token. Beyond its network's share it does so after
            // a while: clients can end such sessions without limit.
            let short = lifeTime(Moment(environment.time)) + environment.limits.tombstoneLife
            let until = environment.keptRoom.takesEnd(from: origin) ? whole : min(whole, short)
            return environment.journal.bury(session.tokenHash, until: until) { [self] result in
                guard case .success = result else { return completion(result) }
                // A running turn may have stored it meanwhile. From now on no turn can.
                let isKept = session.core.withLock { $0.key != nil || $0.rare?.keepers != nil }
                if isKept { forgetKept(session, whole, completion) } else { ended(session, result, completion) }
            }
        }
        forgetKept(session, whole, completion)
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

    /// Ends a session whose lifetime is over. If the journal cannot delete it now, it does so later by itself.
    func expire(_ session: Session) {
        remove(session, .expired)
        forget(session)
    }

    func forget(_ session: Session) {
        guard let key = session.core.withLock({ $0.key }) else { return }
        environment.journal.remove(key, tombstoneUntil: tombstoneUntil(session)) { _ in }
    }

    /// The time until which its token proves itself.
    func tombstoneUntil(_ session: Session) -> Duration {
        max(
            lifeTime(Moment(environment.time)) + environment.limits.tombstoneLife,
            session.created + environment.limits.sessionLife)
    }

    /// Removes an object that has ended or left memory. The journal decides what its token names now.
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

    /// Ends an object whose session is gone.
    func remove(_ session: Session) { remove(session, .ended) }

    private func remove(_ session: Session, _ reason: GoAwayReason) {
        let hash = session.tokenHash
        // It may have left memory and come back meanwhile, as another object.
        let until = tombstoneEnd
        let there = shard(hash).withLock { shard in
            let there = shard.sessions[hash]
            shard.sessions[hash] = nil
            if let there { forgetKey(of: there) }
            // At once, since the token's session may be loading. The name of a space is free again.
            if session.space == nil { shard.bury(hash, until: until, limit: tombstoneLimit) }
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

/// Room for one more session if memory holds the maximum: unused sessions leave it, empty ones first, so that new
/// sessions do not displace sessions in use. An evicted session stays stored and is loaded on demand.
extension SessionTable {
    /// Takes a place for a session without a turn. Returns false if all sessions are in use.
    func enter() -> Bool { places.enter() || makeRoom() && places.enter() }

    /// True if such a session would find a place.
    var hasRoom: Bool { places.hasRoom || makeRoom() }

    /// Takes a place for a session that is loaded. It always finds one: only sessions in use exceed the limit, and
    /// streams and connections have limits of their own.
    func enterAgain() {
        if !enter() { places.enterBeyondLimit() }
    }

    /// The pause after a search in which all sessions were in use. A search takes milliseconds.
    private static let pause: Duration = .milliseconds(100)

    private func makeRoom() -> Bool {
        let now = Moment(environment.time)
        let first = totals.withLock { $0.isFullUntil > now.monotonic ? nil : $0.nextRoom }
        guard let first else { return false }
        for onlyEmpty in [true, false] {
            for index in first..<(first + Self.shardCount)
            where makeRoom(in: shards[index % Self.shardCount], onlyEmpty: onlyEmpty, now: now) {
                totals.withLock { $0.nextRoom = (index + 1) % Self.shardCount }
                return true
            }
        }
        totals.withLock { $0.isFullUntil = now.monotonic + Self.pause }
        return false
    }

    /// Evicts an eighth of a shard's unused sessions, least recently used first, so that not each new session needs a
    /// search.
    private func makeRoom(in shard: Lock<Shard>, onlyEmpty: Bool, now: Moment) -> Bool {
        let sessions = shard.withLock { $0.sessions.all }
        let unused = sessions.compactMap { session in
            session.unusedSince(onlyEmpty: onlyEmpty).map { (session: session, since: $0) }
        }
        var evicted: [(Session, SessionNote)] = []
        for (session, _) in unused.sorted(by: { $0.since < $1.since }).prefix(max(1, unused.count / 8)) {
            if let note = evict(session, from: shard, now: now, after: .zero) { evicted.append((session, note)) }
        }
        environment.metrics.evictions.increment(by: Int64(evicted.count))
        note(evicted)
        return !evicted.isEmpty
    }
}

extension SessionTable {
    /// Sweeps a part of the sessions in memory: ends expired ones, evicts unused ones and writes their notes to the
    /// journal. Also deletes expired sessions from the journal. Called every few seconds, it keeps up without long
    /// pauses.
    ///
    /// - Parameter part: the number of calls that sweep all sessions once.
    package func sweep(part: Int = 12) {
        let now = Moment(environment.time)
        let count = (Self.shardCount + part - 1) / part
        let first = totals.withLock { totals in
            defer { totals.nextShard = (totals.nextShard + count) % Self.shardCount }
            return totals.nextShard
        }
        var notes: [(Session, SessionNote)] = []
        for index in first..<(first + count) { sweep(shards[index % Self.shardCount], now: now, &notes) }
        note(notes)
        expireKept(now: now)
        searchStores(now: now)
        forgetVisits(now: now)
    }

    private func sweep(_ lock: Lock<Shard>, now: Moment, _ notes: inout [(Session, SessionNote)]) {
        let sessions = lock.withLock { shard in
            while let oldest = shard.tombstoneOrder.first, oldest.until <= now.monotonic {
                shard.forgetOldestTombstone()
            }
            return shard.sessions.all
        }
        for session in sessions {
            if session.timeLeft(now: now.monotonic) <= .zero || session.isEnded || session.hasLeft {
                _ = lookUpExpired(session)
                continue
            }
            if session.isEnding {
                end(session) { _ in }
                continue
            }
            notes.append((session, session.tidy(now: now)))
            if let note = evict(session, from: lock, now: now, after: environment.limits.evictAfter) {
                notes.append((session, note))
            }
        }
    }

    /// Evicts a session that was unused for so long. Returns nil if it is in use, otherwise the note for the journal.
    func evict(
        _ session: Session, from shard: Lock<Shard>, now: Moment, after patience: Duration
    ) -> SessionNote? {
        var passive: [SessionStore] = []
        let note = shard.withLock { shard -> SessionNote? in
            guard shard.sessions[session.tokenHash] === session,
                let note = session.evict(now: now, after: patience, &passive)
            else { return nil }
            shard.sessions[session.tokenHash] = nil
            forgetKey(of: session)
            return note
        }
        if note != nil {
            session.leavePlace()
            places.leave()
            unregister(session.credentials)
        }
        return note
    }

    /// Writes notes to the journal. Calls `done` when all are written.
    ///
    /// A failure loses as much as a crash: labels are sent twice, and a session may expire a little early.
    func note(_ notes: [(Session, SessionNote)], done: @escaping @Sendable () -> Void = {}) {
        var touches: [SessionTouch] = []
        var unkept: [Session] = []
        for (session, note) in notes {
            switch note {
            case .nothing: break
            case .used(let touch): touches.append(touch)
            case .unkept: unkept.append(session)
            }
        }
        let oneIsDone = countdown(from: unkept.count + 1, then: done)
        for session in unkept { session.keep { _ in oneIsDone() } }
        guard !touches.isEmpty else { return oneIsDone() }
        environment.journal.touch(touches) { _ in oneIsDone() }
    }

    /// The time since 1970 by which sessions that are not in memory expire.
    func lifeTime(_ now: Moment) -> Duration {
        totals.withLock { $0.expiryClock.time(now, sessionLife: environment.limits.sessionLife) }
    }

    /// Deletes expired sessions from the journal, unless the clocks differ: a wrong clock would end all sessions.
    ///
    /// The journal may learn with a delay when a session was last used, so it deletes a session later than it expires.
    /// A request for an expired session is always judged exactly.
    private func expireKept(now: Moment) {
        guard isNodesTurn(now) else { return }
        let isMine = totals.withLock { totals in
            defer { totals.isExpiring = true }
            return !totals.isExpiring
        }
        guard isMine else { return }
        let time = lifeTime(now)
        environment.journal.expire(
            lastSeenBefore: environment.limits.lives.map { time - $1 - Self.delays(environment.limits)[$0] }, now: time,
            tombstoneUntil: time + environment.limits.tombstoneLife, limit: Self.expiredAtOnce
        ) { [self] result in
            if case .success(let count) = result { environment.metrics.expired(count) }
            totals.withLock { $0.isExpiring = false }
        }
    }

    /// True if this node looks after stored sessions now. The nodes take turns: all use one clock.
    func isNodesTurn(_ now: Moment) -> Bool {
        guard let lease = environment.lease else { return true }
        guard lease.holder != nil, lease.clock.isTrusted else { return false }
        let (rank, count) = lease.place
        return Int(now.sinceEpoch.components.seconds / 5) % count == rank
    }

    /// The number of sessions that the journal deletes in a sweep: 34 million a day. Each deletion changes pages all
    /// over its file, and appends wait while a checkpoint copies them: see `script/trial million`.
    private static var expiredAtOnce: Int { 2_000 }

    /// Writes all pending notes to the journal before the process ends.
    package func flush() async {
        let now = Moment(environment.time)
        let notes = sessions.map { ($0, $0.finalNote(now: now)) }
        await awaitResult { done in note(notes) { done(()) } }
        await writeRecordings()
    }
}
