import Locking
import SessionJournal

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
