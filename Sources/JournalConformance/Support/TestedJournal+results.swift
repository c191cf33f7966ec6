import SessionJournal
import Testing

/// Calls that the test cannot go on without.
extension TestedJournal {
    /// Creates a session of a sample's kind.
    func newSession(
        _ record: SessionRecord = Sample.session(), sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> (key: SessionKey, record: SessionRecord) {
        (try await create(record).get(), record)
    }

    /// Appends; the sequence number of the first turn.
    @discardableResult
    func commit(
        _ append: JournalAppend, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UInt64 {
        let result = try await self.append(append)
        return try #require(result.sequence, "the append ended as \(result)", sourceLocation: sourceLocation)
    }

    /// What the token's session is, as it is kept.
    func stored(
        _ record: SessionRecord, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StoredSession {
        let load = try await load(record.tokenHash).get()
        guard case .found(let session) = load else {
            Issue.record("the session is \(load), not found", sourceLocation: sourceLocation)
            throw CheckCannotGoOn()
        }
        return session
    }

    /// A store as it is kept.
    func store(
        _ feature: FeatureID = Sample.counter, of session: SessionKey,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StoredStore {
        let stores = try await loadStores([feature], of: session).get()
        #expect(stores.count == 1, sourceLocation: sourceLocation)
        return try #require(stores.first, sourceLocation: sourceLocation)
    }

    /// Everything that is kept of a session.
    func exported(
        _ record: SessionRecord, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SessionExport {
        try #require(try await export(record.id).get(), "the session is gone", sourceLocation: sourceLocation)
    }

    /// Everything that is kept of a session, as lines of text.
    func picture(
        _ record: SessionRecord, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        pictured(try await exported(record, sourceLocation: sourceLocation))
    }
}

/// The issue is recorded already.
struct CheckCannotGoOn: Error {}

extension AppendResult {
    /// The sequence number, if it was committed.
    var sequence: UInt64? {
        if case .committed(let sequence) = self { sequence } else { nil }
    }

    var isConflict: Bool {
        if case .conflict = self { true } else { false }
    }

    /// The receipt that was there already.
    var duplicate: StoredReceipt? {
        if case .duplicate(let receipt) = self { receipt } else { nil }
    }

    /// Why certainly nothing is kept.
    var failure: JournalFailure? {
        if case .failed(let failure) = self { failure } else { nil }
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

extension Result {
    var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
