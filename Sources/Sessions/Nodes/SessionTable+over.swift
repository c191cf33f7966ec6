import Locking
import SessionJournal

extension SessionTable {
    /// A session's time is over as far as is known here: it ends. But where other nodes use it too it only leaves memory,
    /// and the journal says whether it lives on.
    ///
    /// - Returns: what its token, or a credential of it, names; nil if the journal is to be asked.
    func over(_ session: Session, _ credential: Credential? = nil) -> SessionLookup? {
        if session.hasLeft {
            drop(session)
            return nil
        }
        guard environment.sharedJournal != nil else {
            if !session.isEnded { environment.metrics.expired(1) }
            expire(session)
            return .ended
        }
        // Its key may name another session by now: nothing is removed by it.
        if session.isEnded {
            drop(session)
            return nil
        }
        let shard = shard(session.tokenHash)
        if let known = evict(session, from: shard, now: Moment(environment.time), after: .zero) {
            note([(session, known)])
            return nil
        }
        // Something of it is in use, or it has left already.
        let isThere = shard.withLock { $0.sessions[session.tokenHash] === session }
        return isThere ? session.lookup(credential) : nil
    }

    /// How much later than it was the journal may know that a session was used on another node.
    var lag: Duration { environment.sharedJournal == nil ? .zero : Self.delay(environment.limits) }

    /// How long it takes at most until the journal knows that a session was used.
    static func delay(_ limits: SessionLimits) -> Duration { limits.touchDelay + .seconds(120) }
}
