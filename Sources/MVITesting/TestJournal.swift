import Locking
import MVI
import SessionJournal

/// The journal of a test store's session: in memory, with appends that fail while a test wants it so.
final class TestJournal: Journal {
    private let kept = MemoryJournal()
    private let failure = Lock<StoreError?>(nil)

    /// Every append fails from now on; nil for no more.
    func fail(_ error: StoreError?) { failure.withLock { $0 = error } }

    var trouble: StoreError? { failure.withLock { $0 } }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        if let trouble { return .failed(trouble) }
        return kept.append(batch, done: done)
    }

    func secret(done: @escaping Done<JournalSecret>) { kept.secret(done: done) }

    func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        kept.create(session, credential: credential, done: done)
    }

    func change(_ change: CredentialChange, done: @escaping Done<Void>) { kept.change(change, done: done) }

    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        kept.bury(token, until: until, done: done)
    }

    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        kept.remove(session, tombstoneUntil: tombstoneUntil, done: done)
    }

    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) { kept.touch(touches, done: done) }

    func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        kept.expire(
            lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: done)
    }

    func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        kept.load(token, now: now, done: done)
    }

    func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        kept.load(session, since: since, done: done)
    }

    func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<[StoredStore]>
    ) {
        kept.loadStores(features, of: session, named: token, done: done)
    }

    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        kept.find(query, limit: limit, done: done)
    }

    func list(of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>) {
        kept.list(of: subject, before: before, limit: limit, done: done)
    }

    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        kept.alarms(after: after, limit: limit, done: done)
    }

    func export(_ id: String, done: @escaping Done<SessionExport?>) { kept.export(id, done: done) }

    func close() async { await kept.close() }
}

extension Journal {
    /// What a journal in memory is asked for: it is there when the call returns.
    package func now<Value: Sendable>(_ body: (@escaping Done<Value>) -> Void) throws(StoreError) -> Value {
        let box = Lock<Result<Value, StoreError>?>(nil)
        body { result in box.withLock { $0 = result } }
        guard let result = box.withLock({ $0 }) else {
            preconditionFailure("a journal in memory answers before the call returns")
        }
        return try result.get()
    }
}

extension TestJournal {
    /// Changes a store as another writer does: another server on the same journal, of whose turn this process has not heard.
    /// False if there is no such store.
    func write(
        _ feature: FeatureID, of session: SessionKey, at time: Duration, schemaVersion: Int, state: [UInt8],
        view: [UInt8]
    ) throws(StoreError) -> Bool {
        while true {
            guard let stored = try now({ load(session, since: .empty, done: $0) }),
                let store = stored.changed.first(where: { $0.summary.feature == feature })
            else { return false }
            let head = SessionHead(number: stored.head.number + 1, nonce: .random(in: .min ... .max))
            let change = StoreChange(
                feature: feature, kind: .changed, number: head.number, version: head.number,
                made: store.summary.made, schemaVersion: schemaVersion, state: state, view: view)
            let batch = JournalBatch(
                session: session, expecting: stored.head, head: head, time: time, stores: [change])
            // Work of the session that was resumed elsewhere may have been faster.
            switch kept.append(batch, done: { _ in }) {
            case .committed?: return true
            case .conflict?: continue
            case .failed(let error)?, .unknown(let error)?: throw error
            case .duplicate?, nil:
                preconditionFailure("a journal in memory answers at once, and the batch has no receipt")
            }
        }
    }
}
