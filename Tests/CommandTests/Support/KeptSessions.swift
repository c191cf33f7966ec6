import Locking
import Logging
import MVI
import SQLiteJournal
import SessionJournal
import Testing

/// A journal in a folder, with some sessions.
enum KeptSessions {
    static let start = Duration.milliseconds(1_790_000_000_123)
    static let counter = FeatureID(name: "counter", key: nil)

    static func open(_ folder: String) async throws -> SQLiteJournal {
        try await SQLiteJournal.open(
            directory: folder, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// Adds the sessions `session-1` and so on: each has a counter at its number.
    static func add(_ numbers: ClosedRange<Int>, to journal: SQLiteJournal) async throws {
        for number in numbers {
            let record = SessionRecord(
                id: "session-\(number)", tokenHash: token(number), epoch: "k\(number)", credential: .bearer,
                created: start, lastSeen: start)
            let key = try await awaitResult { journal.create(record, done: $0) }.get()
            let append = JournalBatch(
                session: key, expecting: .empty, head: SessionHead(number: 1, nonce: UInt64(number)),
                time: start + .seconds(number),
                stores: [
                    StoreChange(
                        feature: counter, kind: .made, number: 1, version: 1, made: 1,
                        state: Array("{\"count\":\(number)}".utf8), view: Array("[]".utf8))
                ])
            let result: AppendResult = await awaitResult { done in
                if let result = journal.append(append, done: done) { done(result) }
            }
            guard case .committed = result else {
                Issue.record("the append ended as \(result)")
                continue
            }
        }
    }

    /// Returns the count of a session in the journal of a folder.
    static func count(ofSession number: Int, inFolder folder: String) throws -> String? {
        let state = try SQLiteJournalFile(directory: folder).export("session-\(number)")?.stores.first?.state
        return state.map { String(decoding: $0, as: UTF8.self) }
    }

    static func token(_ number: Int) -> TokenHash { TokenHash(Array(repeating: UInt8(number), count: 32)) }
}
