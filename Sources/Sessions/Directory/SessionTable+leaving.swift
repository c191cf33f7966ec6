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

/// Room for one session more where memory has as many as it may: those that are not used leave it, empty ones first, so
/// that making sessions keeps no one out who uses one. What leaves is kept, and comes back when it is asked for.
extension SessionTable {
    /// Takes a place for a session in which nothing has happened yet; false if all sessions are in use.
    func enter() -> Bool { places.enter() || makeRoom() && places.enter() }

    /// Whether such a session would find a place.
    var hasRoom: Bool { places.hasRoom || makeRoom() }

    /// Takes a place for a session that is brought back. It finds one always: only sessions in use go beyond the limit, and
    /// streams and connections have bounds of their own.
    func enterAgain() {
        if !enter() { places.enterBeyondLimit() }
    }

    /// How long it is not tried again when all were in use: looking at all of them takes milliseconds.
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

    /// An eighth of a shard's unused sessions leave memory, those that were used least recently: so that looking at all
    /// of them is not done for each new one.
    private func makeRoom(in shard: Lock<Shard>, onlyEmpty: Bool, now: Moment) -> Bool {
        let sessions = shard.withLock { Array($0.sessions.values) }
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
    /// Goes through a part of the sessions in memory: ends those whose time is over, gives back what is not used, tells
    /// the journal what it should note, and has it forget sessions whose time is over that are not in memory. Called
    /// every few seconds, it keeps up without holding anything up for long.
    ///
    /// - Parameter part: which share of the sessions one call looks at: one of so many.
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
    }

    private func sweep(_ lock: Lock<Shard>, now: Moment, _ notes: inout [(Session, SessionNote)]) {
        let sessions = lock.withLock { shard in
            while let oldest = shard.tombstoneOrder.first, oldest.until <= now.monotonic {
                shard.forgetOldestTombstone()
            }
            return Array(shard.sessions.values)
        }
        for session in sessions {
            if session.timeLeft(now: now.monotonic) <= .zero || session.isEnded || session.hasLeft {
                _ = over(session)
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

    /// Has a session leave memory if nothing of it was in use for so long: nil if something was, else what the journal is
    /// to note.
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
            places.leave()
            unregister(session.credentials)
        }
        return note
    }

    /// Tells the journal; `done` is called when it has all of it.
    ///
    /// What is lost here is lost in a crash as well: labels come twice, and a session may expire a little early.
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

    /// The time since 1970 by which the lives of sessions are judged that are not in memory.
    func lifeTime(_ now: Moment) -> Duration {
        totals.withLock { $0.lifeClock.time(now, sessionLife: environment.limits.sessionLife) }
    }

    /// Deletes only by a clock that the journal agrees with: one that is set wrong would end every session of all nodes.
    ///
    /// The journal may be behind with when a session was last used, so it is given time beyond the session's life; whether
    /// a session is over is decided exactly when a request asks for it.
    private func expireKept(now: Moment) {
        if let lease = environment.lease {
            guard lease.holder != nil, lease.clock.isTrusted else { return }
            // One node after the other: all go by one clock.
            let (rank, count) = lease.place
            guard Int(now.sinceEpoch.components.seconds / 5) % count == rank else { return }
        }
        let isMine = totals.withLock { totals in
            defer { totals.isExpiring = true }
            return !totals.isExpiring
        }
        guard isMine else { return }
        let time = lifeTime(now)
        environment.journal.expire(
            lastSeenBefore: time - environment.limits.sessionLife - Self.delay(environment.limits), now: time,
            tombstoneUntil: time + environment.limits.tombstoneLife, limit: Self.expiredAtOnce
        ) { [self] result in
            if case .success(let count) = result { environment.metrics.expired(count) }
            totals.withLock { $0.isExpiring = false }
        }
    }

    /// How many sessions the journal forgets in a sweep: 34 million a day. Each changes pages all over its file, and
    /// appends wait while a checkpoint copies these: see `script/trial million`.
    private static var expiredAtOnce: Int { 2_000 }

    /// Tells the journal everything that it should know before the process ends.
    package func flush() async {
        let now = Moment(environment.time)
        let notes = sessions.map { ($0, $0.finalNote(now: now)) }
        await awaitResult { done in note(notes) { done(()) } }
    }
}
