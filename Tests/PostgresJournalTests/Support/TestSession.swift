import Locking
import Logging
import MVI
import SessionJournal
import Testing

@testable import PostgresJournal

/// A session with one store, as tests need it.
struct TestSession: Sendable {
    static let counter = FeatureID(name: "counter", key: nil)
    static let start: Duration = .seconds(1_000_000)

    let key: SessionKey
    let record: SessionRecord

    static func record(lastSeen: Duration = start) -> SessionRecord {
        SessionRecord(
            id: "s\(UInt64.random(in: 0 ... .max))", tokenHash: TokenHash((0..<32).map { _ in .random(in: 0...255) }),
            epoch: "e", credential: .bearer, created: lastSeen, lastSeen: lastSeen)
    }

    /// A new space.
    static func space(_ name: String) -> SessionRecord {
        guard let name = SpaceName(name) else { preconditionFailure("'\(name)' is no name") }
        return SessionRecord(space: name, id: "s\(UInt64.random(in: 0 ... .max))", epoch: "e", created: start)
    }

    /// Returns the next turn of the store. The first one creates it.
    func turn(
        after head: SessionHead = .empty, state: String = "1", labels: [String] = [],
        expiry: Duration = .seconds(2_000_000)
    ) -> JournalBatch {
        let number = head.number + 1
        return JournalBatch(
            session: key, expecting: head, head: SessionHead(number: number, nonce: .random(in: .min ... .max)),
            time: Self.start,
            stores: [
                StoreChange(
                    feature: Self.counter, kind: head == .empty ? .made : .changed, number: number, version: number,
                    made: number, state: Array(state.utf8), view: Array("v\(state)".utf8), viewIntent: "i")
            ],
            labels: labels.enumerated().map { index, text in
                StoredLabel(
                    id: LabelID(number: number, index: index), feature: Self.counter, version: number, intent: nil,
                    json: Array(text.utf8), expiry: expiry)
            })
    }
}

extension PostgresJournal {
    func newSession() async throws -> TestSession {
        let record = TestSession.record()
        return TestSession(key: try await awaitResult { create(record, done: $0) }.get(), record: record)
    }

    func append(_ batch: JournalBatch) async -> AppendResult {
        await awaitResult { done in if let result = append(batch, done: done) { done(result) } }
    }

    func news(_ session: TestSession, since head: SessionHead = .empty) async throws -> StoredSession? {
        try await awaitResult { load(session.key, since: head, done: $0) }.get()
    }

    func load(_ session: TestSession) async throws -> SessionLoad {
        try await awaitResult { load(session.record.tokenHash, now: TestSession.start, done: $0) }.get()
    }

    func waitForTrouble(_ isIn: Bool, within limit: Duration = .seconds(60)) async throws {
        let end = ContinuousClock.now + limit
        while (trouble != nil) != isIn {
            try #require(ContinuousClock.now < end, "the journal's trouble is \(String(describing: trouble))")
            await Task.yield()
        }
    }
}

extension AppendResult {
    var isCommitted: Bool { if case .committed = self { true } else { false } }
    var isConflict: Bool { if case .conflict = self { true } else { false } }
    var isUnknown: Bool { if case .unknown = self { true } else { false } }
    var failure: StoreError.Code? { if case .failed(let error) = self { error.code } else { nil } }
}
