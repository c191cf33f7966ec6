import Locking
import MVI
import SessionJournal

/// A test's journal: another one, in memory for a test store, with appends that fail while the test wants it so.
package final class TestJournal: Journal {
    private let kept: any Journal
    private let failure = Lock<StoreError?>(nil)
    private let counts = Lock(Counts())
    private let signal = Signal()

    private struct Counts {
        var appends = 0
        var operations = 0
        var open = 0
    }

    package init(_ kept: any Journal = MemoryJournal()) { self.kept = kept }

    /// Every append fails from now on; nil for no more.
    package func fail(_ error: StoreError?) { failure.withLock { $0 = error } }

    /// The number of appends, those that failed included.
    package var appendCount: Int { counts.withLock { $0.appends } }

    /// The number of operations that were begun.
    package var operationCount: Int { counts.withLock { $0.operations } }

    /// Returns when each operation is over, and all has run that its end led to in the same call; false if that takes longer.
    package func settled(atMost limit: Duration) async -> Bool {
        await signal.wait(atMost: limit) { self.counts.withLock { $0.open == 0 } }
    }

    private func counted<Value>(_ done: @escaping Done<Value>) -> Done<Value> {
        begin()
        return { result in
            done(result)
            self.end()
        }
    }

    private func begin() {
        counts.withLock { counts in
            counts.operations += 1
            counts.open += 1
        }
    }

    private func end() {
        counts.withLock { $0.open -= 1 }
        signal.send()
    }

    package var trouble: StoreError? { failure.withLock { $0 } ?? kept.trouble }

    package func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        counts.withLock { $0.appends += 1 }
        if let failure = failure.withLock({ $0 }) { return .failed(failure) }
        begin()
        let result = kept.append(batch) { result in
            done(result)
            self.end()
        }
        if result != nil { end() }
        return result
    }

    package func secret(done: @escaping Done<JournalSecret>) { kept.secret(done: counted(done)) }

    package func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        kept.create(session, credential: credential, done: counted(done))
    }

    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        kept.change(change, done: counted(done))
    }

    package func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        kept.bury(token, until: until, done: counted(done))
    }

    package func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        kept.remove(session, tombstoneUntil: tombstoneUntil, done: counted(done))
    }

    package func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        kept.touch(touches, done: counted(done))
    }

    package func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        kept.expire(
            lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: counted(done))
    }

    package func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        kept.load(token, now: now, done: counted(done))
    }

    package func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        kept.load(session, since: since, done: counted(done))
    }

    package func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<[StoredStore]>
    ) {
        kept.loadStores(features, of: session, named: token, done: counted(done))
    }

    package func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        kept.find(query, limit: limit, done: counted(done))
    }

    package func list(of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>) {
        kept.list(of: subject, before: before, limit: limit, done: counted(done))
    }

    package func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        kept.alarms(after: after, limit: limit, done: counted(done))
    }

    package func export(_ id: String, done: @escaping Done<SessionExport?>) { kept.export(id, done: counted(done)) }

    package func close() async { await kept.close() }
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
