import MVI
import Networks
import SessionJournal

/// A session is written down with its first turn. Until then its token alone says that it is there.
extension Session {
    /// Has the journal keep the session, if it does not, and hands over what it calls it.
    func keep(_ done: @escaping @Sendable (Result<SessionKey, StoreError>) -> Void) {
        let now = Moment(shared.time)
        typealias New = (record: SessionRecord, origin: PeerAddress?, generation: [UInt8]?)
        let (key, new) = core.withLock { core -> (SessionKey?, New?) in
            if let key = core.key { return (key, nil) }
            defer { core.keepers = (core.keepers ?? []) + [done] }
            guard core.keepers == nil else { return (nil, nil) }
            return (nil, (record(core, now), core.origin, core.generation))
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

    /// What a journal keeps of the session to begin with.
    private func record(_ core: SessionCore, _ now: Moment) -> SessionRecord {
        SessionRecord(
            id: id, tokenHash: tokenHash, epoch: core.epoch, credential: credential, created: created,
            lastSeen: max(created, now.sinceEpoch(core.lastTouch)))
    }

    /// The same as long as the session is nowhere but in memory; else nil.
    var unkeptRecord: SessionRecord? {
        let now = Moment(shared.time)
        return core.withLock { $0.isLive && $0.key == nil ? record($0, now) : nil }
    }

    private func takePlace(_ origin: PeerAddress?) {
        let place = shared.keptRoom.take(for: origin)
        core.withLock { $0.keptPlace = place }
        place?.onGiveWay { [weak self] in self?.giveWay() }
    }

    /// Another process was first, or this one before its last append's outcome was known.
    private func findKept(_ error: StoreError) {
        shared.journal.load(tokenHash, now: shared.time.sinceEpoch()) { [self] result in
            switch result {
            case .success(.found(let stored)): kept(.success(stored.key))
            case .success(.ended): kept(.failure(.sessionGone))
            case .success(.damaged(_, let reason)):
                let error = StoreError.damaged("of a session cannot be read: \(reason)")
                kept(.failure(error))
                leave(error)
            // Its id is another session's: one in 2 to the power of 64.
            case .success(.unknown): kept(.failure(error))
            case .failure(let failure): kept(.failure(failure))
            }
        }
    }

    private func kept(_ result: Result<SessionKey, StoreError>) {
        // Before it can leave memory, which it does not while it is being kept.
        if shared.sharedJournal != nil, case .success(let key) = result { shared.index.add(key, tokenHash) }
        let (keepers, isLive) = core.withLock { core in
            core.key = try? result.get()
            defer { core.keepers = nil }
            return (core.keepers ?? [], core.isLive)
        }
        // It ended meanwhile.
        if shared.sharedJournal != nil, !isLive, case .success(let key) = result { shared.index.remove(key) }
        for keeper in keepers { keeper(result) }
    }
}
