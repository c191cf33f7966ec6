import SessionJournal

/// What the writer is asked for.
enum WriteItem: Sendable {
    case create(SessionRecord, Done<SessionKey>)
    case append(JournalAppend, @Sendable (AppendResult) -> Void)
    case removeStore(FeatureID, of: SessionKey, SessionMarks, Done<Void>)
    case remove(SessionKey, tombstoneUntil: Duration, Done<Void>)
    case touch(ArraySlice<SessionTouch>, Done<Void>)
    case expire(Expiry)
    case backup(to: String, Done<Void>)

    /// The session that it is about, if it is one.
    var session: SessionKey? {
        switch self {
        case .append(let append, _): append.session
        case .removeStore(_, let session, _, _), .remove(let session, _, _): session
        case .create, .touch, .expire, .backup: nil
        }
    }

    /// About how many bytes it writes.
    var bytes: Int {
        guard case .append(let append, _) = self else { return 200 }
        var bytes = 200 + append.receipts.count * 200
        for case .refused(_, let body) in append.receipts.lazy.map(\.outcome) { bytes += body.count }
        guard let store = append.store else { return bytes }
        bytes += (store.state?.count ?? 0) + (store.view?.count ?? 0)
        for turn in store.turns {
            bytes += turn.recording?.count ?? 0
            for label in turn.labels { bytes += 100 + label.json.count }
        }
        return bytes
    }

    /// Its result when it cannot be done.
    func refused(_ failure: JournalFailure) -> Delivery {
        switch self {
        case .append(_, let done): .append(.failed(failure), done)
        case .create(_, let done): .other { done(.failure(failure)) }
        case .removeStore(_, _, _, let done), .remove(_, _, let done), .touch(_, let done), .backup(_, let done):
            .other { done(.failure(failure)) }
        case .expire(let expiry): .other { expiry.done(.failure(failure)) }
        }
    }

    /// Its result when it is not known whether it was done.
    func unknown(_ failure: JournalFailure) -> Delivery {
        if case .append(_, let done) = self { return .append(.unknown(failure), done) }
        return refused(failure)
    }
}

/// The expiry of sessions, which takes many steps.
struct Expiry: Sendable {
    let lastSeenBefore: Duration
    let now: Duration
    let tombstoneUntil: Duration
    let limit: Int
    let done: Done<Int>
    /// How many sessions it has forgotten.
    var count = 0
    var hasTombstones = true
    var hasSessions = true
}
