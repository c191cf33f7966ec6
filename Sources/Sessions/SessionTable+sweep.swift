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
        var touches: [SessionTouch] = []
        for index in first..<(first + count) { sweep(shards[index % Self.shardCount], now: now, &touches) }
        note(touches)
        expireKept(now: now)
    }

    private func sweep(_ lock: Lock<Shard>, now: Moment, _ touches: inout [SessionTouch]) {
        let sessions = lock.withLock { shard in
            while let oldest = shard.tombstoneOrder.first, oldest.until <= now.monotonic {
                shard.tombstoneOrder.removeFirst()
                if shard.tombstones[oldest.hash] == oldest.until { shard.tombstones[oldest.hash] = nil }
            }
            return Array(shard.sessions.values)
        }
        for session in sessions {
            if session.timeLeft(now: now.monotonic) <= .zero || session.isEnded {
                expire(session)
                continue
            }
            if let touch = session.tidy(now: now) { touches.append(touch) }
            if let touch = evict(session, from: lock, now: now, after: environment.limits.evictAfter) {
                touches.append(touch)
            }
        }
    }

    /// Has a session leave memory if nothing of it was in use for so long: nil if something was, else what the journal is
    /// to note.
    func evict(
        _ session: Session, from shard: Lock<Shard>, now: Moment, after patience: Duration
    ) -> SessionTouch? {
        let touch = shard.withLock { shard -> SessionTouch? in
            guard shard.sessions[session.tokenHash] === session,
                let touch = session.evict(now: now, after: patience)
            else { return nil }
            shard.sessions[session.tokenHash] = nil
            return touch
        }
        if touch != nil { places.leave() }
        return touch
    }

    /// What is lost here is lost in a crash as well: labels come twice, and a session may expire a little early.
    func note(_ touches: [SessionTouch]) {
        if !touches.isEmpty { environment.journal.touch(touches) { _ in } }
    }

    /// The time since 1970 by which the lives of sessions are judged that are not in memory.
    func lifeTime(_ now: Moment) -> Duration {
        totals.withLock { $0.lifeClock.time(now, sessionLife: environment.limits.sessionLife) }
    }

    /// The journal may be behind with when a session was last used, so it is given time beyond the session's life; whether
    /// a session is over is decided exactly when a request asks for it.
    private func expireKept(now: Moment) {
        let isMine = totals.withLock { totals in
            defer { totals.isExpiring = true }
            return !totals.isExpiring
        }
        guard isMine else { return }
        let time = lifeTime(now)
        let lag = min(environment.limits.sessionLife / 10, environment.limits.touchInterval) + .seconds(120)
        environment.journal.expire(
            lastSeenBefore: time - environment.limits.sessionLife - lag, now: now.sinceEpoch,
            tombstoneUntil: tombstoneUntil, limit: 10_000
        ) { [self] _ in
            totals.withLock { $0.isExpiring = false }
        }
    }

    /// Tells the journal everything that it should know before the process ends.
    package func flush() async {
        let now = Moment(environment.time)
        let touches = sessions.compactMap { $0.finalTouch(now: now) }
        guard !touches.isEmpty else { return }
        await withCheckedContinuation { continuation in
            environment.journal.touch(touches) { _ in continuation.resume() }
        }
    }
}
