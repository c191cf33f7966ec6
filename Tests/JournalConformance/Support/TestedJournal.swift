import Locking
import MVI
import SessionJournal
import Testing

/// The journal under test with `async` calls, each of which checks that there is one result.
final class TestedJournal: Sendable {
    private let reopens: Bool
    private let open: @Sendable () async throws -> any Journal
    private let current: Lock<any Journal>
    private let noted = Lock<[String]>([])

    init(reopens: Bool, open: @escaping @Sendable () async throws -> any Journal) async throws {
        self.reopens = reopens
        self.open = open
        current = Lock(try await open())
    }

    /// The journal itself.
    var journal: any Journal { current.withLock { $0 } }

    /// The faults in its results.
    var faults: [String] { noted.withLock { $0 } }

    /// Reopens the journal if possible, so that later calls see stored data and no caches.
    func reload() async throws {
        guard reopens else { return }
        await journal.close()
        try await openAgain()
    }

    /// Reopens a closed journal if possible. Returns true if it did.
    func reopen() async throws -> Bool {
        if reopens { try await openAgain() }
        return reopens
    }

    /// Runs `body` while the journal is closed, then opens it again.
    func closed<Value>(_ body: () throws -> Value) async throws -> Value {
        await journal.close()
        let value = try body()
        try await openAgain()
        return value
    }

    private func openAgain() async throws {
        let again = try await open()
        current.withLock { $0 = again }
    }

    func close() async { await journal.close() }

    // MARK: Calls that are not waited for

    func startAppend(_ batch: JournalBatch) -> Answer<AppendResult> {
        let answer: Answer<AppendResult> = answer(of: "append")
        if let result = journal.append(batch, done: { answer.give($0) }) { answer.give(result) }
        return answer
    }

    func start<Value: Sendable>(
        _ call: String, _ start: (any Journal, @escaping @Sendable (Value) -> Void) -> Void
    ) -> Answer<Value> {
        let answer: Answer<Value> = answer(of: call)
        start(journal) { answer.give($0) }
        return answer
    }

    private func answer<Value: Sendable>(of call: String) -> Answer<Value> {
        Answer { [noted] in noted.withLock { $0.append("\(call) was answered more than once.") } }
    }

    // MARK: Calls

    func append(_ batch: JournalBatch) async throws -> AppendResult { try await startAppend(batch).value }

    func create(
        _ session: SessionRecord, credential: StoredCredential? = nil
    ) async throws -> Result<SessionKey, StoreError> {
        try await start("create") { $0.create(session, credential: credential, done: $1) }.value
    }

    func change(_ change: CredentialChange) async throws -> Result<Void, StoreError> {
        try await start("change") { $0.change(change, done: $1) }.value
    }

    func secret() async throws -> Result<JournalSecret, StoreError> {
        try await start("secret") { $0.secret(done: $1) }.value
    }

    func bury(_ token: TokenHash, until: Duration) async throws -> Result<Void, StoreError> {
        try await start("bury") { $0.bury(token, until: until, done: $1) }.value
    }

    func remove(_ session: SessionKey, tombstoneUntil: Duration) async throws -> Result<Void, StoreError> {
        try await start("remove") { $0.remove(session, tombstoneUntil: tombstoneUntil, done: $1) }.value
    }

    func touch(_ touches: [SessionTouch]) async throws -> Result<Void, StoreError> {
        try await start("touch") { $0.touch(touches, done: $1) }.value
    }

    func record(_ recordings: [SessionRecordings]) async throws -> Result<Void, StoreError> {
        try await start("record") { $0.record(recordings, done: $1) }.value
    }

    func expire(
        lastSeenBefore: Duration, now: Duration = Sample.later, tombstoneUntil: Duration = Sample.muchLater, limit: Int
    ) async throws -> Result<Int, StoreError> {
        try await expire(
            lastSeenBefore: PerLifeClass(lastSeenBefore), now: now, tombstoneUntil: tombstoneUntil, limit: limit)
    }

    func expire(
        lastSeenBefore: PerLifeClass, now: Duration = Sample.later, tombstoneUntil: Duration = Sample.muchLater,
        limit: Int
    ) async throws -> Result<Int, StoreError> {
        try await start("expire") {
            $0.expire(
                lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: $1)
        }.value
    }

    func purge(_ subject: Subject, tombstoneUntil: Duration = Sample.muchLater) async throws -> Result<Void, StoreError>
    {
        try await start("purge") { $0.purge(subject, now: Sample.later, tombstoneUntil: tombstoneUntil, done: $1) }
            .value
    }

    func storesOf(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int
    ) async throws -> Result<FoundStores, StoreError> {
        try await start("unused stores") {
            $0.findStores(queries, ofSubjects: ofSubjects, after: after, limit: limit, done: $1)
        }.value
    }

    func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration = Sample.muchLater, limit: Int
    ) async throws -> Result<Int, StoreError> {
        try await start("reclaim") {
            $0.reclaim(
                lastSeenBefore: lastSeenBefore, usedFor: usedFor, tombstoneUntil: tombstoneUntil, limit: limit, done: $1
            )
        }.value
    }

    func load(_ token: TokenHash, now: Duration = Sample.later) async throws -> Result<SessionLoad, StoreError> {
        try await start("load") { $0.load(token, now: now, done: $1) }.value
    }

    func load(_ session: SessionKey, since head: SessionHead) async throws -> Result<StoredSession?, StoreError> {
        try await start("load since") { $0.load(session, since: head, done: $1) }.value
    }

    func loadStores(
        _ features: [FeatureID], of log: Log
    ) async throws -> Result<[StoredStore], StoreError> {
        try await loadMarkedStores(features, of: log).map(\.stores)
    }

    func loadMarkedStores(
        _ features: [FeatureID], of log: Log
    ) async throws -> Result<LoadedStores, StoreError> {
        try await start("loadStores") {
            $0.loadStores(features, of: log.key, named: log.record.tokenHash, done: $1)
        }.value
    }

    func find(_ query: SessionQuery, limit: Int = 100) async throws -> Result<[SessionRecord], StoreError> {
        try await start("find") { $0.find(query, limit: limit, done: $1) }.value
    }

    func list(
        of subject: Subject? = nil, before: SessionKey? = nil, limit: Int = 100
    ) async throws -> Result<[SessionOverview], StoreError> {
        try await start("list") { $0.list(of: subject, before: before, limit: limit, done: $1) }.value
    }

    func alarms(after alarm: Alarm? = nil, limit: Int = 100) async throws -> Result<[Alarm], StoreError> {
        try await start("alarms") { $0.alarms(after: alarm, limit: limit, done: $1) }.value
    }

    func export(_ id: String, turnsAfter number: UInt64? = nil) async throws -> Result<SessionExport?, StoreError> {
        try await start("export") { $0.export(id, turnsAfter: number, done: $1) }.value
    }
}
