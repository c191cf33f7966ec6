import MVI
import SessionJournal
import Testing

/// Calls that must succeed for the test to continue.
extension TestedJournal {
    /// Creates a session of a sample's kind.
    func newLog(
        _ record: SessionRecord = Sample.session(), credential: StoredCredential? = nil
    ) async throws -> Log {
        Log(
            key: try await create(record, credential: credential).get(), record: record,
            credentials: credential.map { [$0] } ?? [])
    }

    /// Creates a session of the subject `a` with credentials.
    func newSignedIn(_ credentials: [StoredCredential], isShared: Bool = false) async throws -> Log {
        let subject = Sample.subject("a")
        var log = try await newLog(
            Sample.session(subject: subject, isShared: isShared), credential: credentials.first)
        let change = CredentialChange(
            session: log.key, expecting: subject, subject: subject, kept: Array(credentials.dropFirst()))
        _ = try await self.change(change).get()
        log.credentials = credentials
        return log
    }

    /// Appends a log's next batch or another one, and advances the log.
    func commit(
        _ batch: JournalBatch, to log: inout Log, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await append(batch)
        try #require(result.isCommitted, "the append ended as \(result)", sourceLocation: sourceLocation)
        log.head = batch.head
    }

    /// Adds recordings of a session's turns.
    func record(
        _ turns: [RecordedTurn], of log: Log, _ limit: RecordingLimit, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await record([SessionRecordings(log.key, turns, limit)])
        try #require(result.failure == nil, sourceLocation: sourceLocation)
    }

    /// Creates a session with a store whose state is `{}`.
    func newLogWithStore(_ record: SessionRecord = Sample.session()) async throws -> Log {
        var log = try await newLog(record)
        try await commit(log.batch(.made()), to: &log)
        return log
    }

    /// Returns the stored session of a log.
    func stored(_ log: Log, sourceLocation: SourceLocation = #_sourceLocation) async throws -> StoredSession {
        try await stored(log.record.tokenHash, sourceLocation: sourceLocation)
    }

    /// Returns the stored session of a token.
    func stored(
        _ token: TokenHash, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StoredSession {
        let load = try await load(token).get()
        guard case .found(let session) = load else {
            Issue.record("the session is \(load), not found", sourceLocation: sourceLocation)
            throw CheckCannotGoOn()
        }
        return session
    }

    /// Returns everything that was appended after a head.
    func news(
        _ log: Log, since head: SessionHead, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StoredSession {
        try #require(try await load(log.key, since: head).get(), "the session is gone", sourceLocation: sourceLocation)
    }

    /// Returns a stored store.
    func store(
        _ feature: FeatureID = Sample.counter, of log: Log, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StoredStore {
        let stores = try await loadStores([feature], of: log).get()
        #expect(stores.count == 1, sourceLocation: sourceLocation)
        return try #require(stores.first, sourceLocation: sourceLocation)
    }

    /// Returns everything stored about a session.
    func exported(_ log: Log, sourceLocation: SourceLocation = #_sourceLocation) async throws -> SessionExport {
        try #require(try await export(log.record.id).get(), "the session is gone", sourceLocation: sourceLocation)
    }

    /// Returns everything stored about a session as lines of text.
    func picture(_ log: Log, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        pictured(try await exported(log, sourceLocation: sourceLocation))
    }
}

/// Ends a check whose issue is recorded already.
struct CheckCannotGoOn: Error {}

extension AppendResult {
    var isCommitted: Bool {
        if case .committed = self { true } else { false }
    }

    var isConflict: Bool {
        if case .conflict = self { true } else { false }
    }

    /// The receipt that existed already.
    var duplicate: StoredReceipt? {
        if case .duplicate(let receipt) = self { receipt } else { nil }
    }

    /// The places of messages that were received before.
    var heardBefore: [Int]? {
        if case .heardBefore(let places) = self { places } else { nil }
    }

    /// The code of a certain failure.
    var failure: StoreError.Code? {
        if case .failed(let error) = self { error.code } else { nil }
    }
}

extension SessionLoad {
    var isEnded: Bool {
        if case .ended = self { true } else { false }
    }

    var isUnknown: Bool {
        if case .unknown = self { true } else { false }
    }
}

extension Result where Failure == StoreError {
    var failure: StoreError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
