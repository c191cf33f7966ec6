import Locking
import MVI
import SessionJournal

/// A journal that answers later, from one task that works on what was handed over; what it keeps outlives it in the
/// journal underneath. It stands for an engine with a file.
final class LateJournal: Journal {
    private typealias Job = @Sendable () -> Void

    private let kept: MemoryJournal
    private let jobs: AsyncStream<Job>.Continuation
    private let worker: Task<Void, Never>
    private let isClosed = Lock(false)

    init(_ kept: MemoryJournal) {
        self.kept = kept
        let (stream, continuation) = AsyncStream.makeStream(of: Job.self)
        jobs = continuation
        worker = Task.detached {
            for await job in stream { job() }
        }
    }

    var trouble: StoreError? { isClosed.withLock { $0 } ? Self.closed : nil }

    func secret(done: @escaping Done<JournalSecret>) { later(done) { [kept] in kept.secret(done: done) } }

    func create(
        _ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>
    ) {
        later(done) { [kept] in kept.create(session, credential: credential, done: done) }
    }

    func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        later(done) { [kept] in kept.change(change, done: done) }
    }

    func append(
        _ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void
    ) -> AppendResult? {
        let isTaken = enqueue { [kept] in
            if let result = kept.append(batch, done: done) { done(result) }
        }
        return isTaken ? nil : .failed(Self.closed)
    }

    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        later(done) { [kept] in kept.bury(token, until: until, done: done) }
    }

    func remove(
        _ session: SessionKey, tombstoneUntil: Duration,
        done: @escaping Done<Void>
    ) {
        later(done) { [kept] in kept.remove(session, tombstoneUntil: tombstoneUntil, done: done) }
    }

    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        later(done) { [kept] in kept.touch(touches, done: done) }
    }

    func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int,
        done: @escaping Done<Int>
    ) {
        later(done) { [kept] in
            kept.expire(
                lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: done)
        }
    }

    func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        later(done) { [kept] in
            kept.reclaim(
                lastSeenBefore: lastSeenBefore, usedFor: usedFor, tombstoneUntil: tombstoneUntil, limit: limit,
                done: done)
        }
    }

    func load(
        _ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>
    ) {
        later(done) { [kept] in kept.load(token, now: now, done: done) }
    }

    func load(
        _ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>
    ) {
        later(done) { [kept] in kept.load(session, since: since, done: done) }
    }

    func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash,
        done: @escaping Done<[StoredStore]>
    ) {
        later(done) { [kept] in kept.loadStores(features, of: session, named: token, done: done) }
    }

    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        later(done) { [kept] in kept.find(query, limit: limit, done: done) }
    }

    func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>
    ) {
        later(done) { [kept] in kept.list(of: subject, before: before, limit: limit, done: done) }
    }

    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        later(done) { [kept] in kept.alarms(after: after, limit: limit, done: done) }
    }

    func export(_ id: String, done: @escaping Done<SessionExport?>) {
        later(done) { [kept] in kept.export(id, done: done) }
    }

    func close() async {
        isClosed.withLock { $0 = true }
        jobs.finish()
        await worker.value
    }

    private static let closed = StoreError(.closed, "The journal is closed.")

    private func later<Value>(
        _ done: @escaping Done<Value>, _ job: @escaping Job
    ) {
        if !enqueue(job) { done(.failure(Self.closed)) }
    }

    /// Says whether the job is taken.
    private func enqueue(_ job: @escaping Job) -> Bool {
        if case .enqueued = jobs.yield(job) { true } else { false }
    }
}
