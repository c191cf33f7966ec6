import Foundation
import Locking
import Logging
import MVI
import SQLiteJournal
import SessionJournal
import Testing

@testable import PostgresJournal

/// A data folder with sessions of each kind, to be imported. It is deleted with its owner.
final class SourceFolder: Sendable {
    static let start: Duration = .milliseconds(1_790_000_000_123)
    static let ann = Subject(issuer: "https://issuer.example", id: "ann\0")

    /// Messages that the space received at `TestSession.start`.
    static let heard = [(1, 5), (2, 7), (1, 6)].map {
        HeardMessage(sender: Array(repeating: $0, count: 16), number: $1)
    }

    static let forgotten = Subject(issuer: "https://issuer.example", id: "cleo")

    let path = NSTemporaryDirectory() + "/mvi-import-\(UInt64.random(in: 0 ... .max))"
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: SQLiteJournalFile { SQLiteJournalFile(directory: path) }

    func journal() async throws -> SQLiteJournal { try await SQLiteJournal.open(directory: path, logger: log) }

    /// The ids of all stored sessions.
    func ids() throws -> [String] { try file.sessions(limit: 1_000).map(\.id) }

    static func token() -> TokenHash { TokenHash((0..<32).map { _ in .random(in: 0...255) }) }

    static func credential(_ number: Int, revokedUntil: Duration? = nil) -> StoredCredential {
        StoredCredential(
            token: token(), kind: .cookie, number: number, principal: Array("{\"n\":\(number)}".utf8), made: start,
            revokedUntil: revokedUntil, settings: ClientSettings(locale: "de-DE", timeZone: nil))
    }

    static func record(_ subject: Subject? = nil, isShared: Bool = false) -> SessionRecord {
        SessionRecord(
            id: "s\(UInt64.random(in: 0 ... .max))", tokenHash: token(), epoch: "e\(UInt64.random(in: 0 ... .max))",
            credential: .bearer, created: start, lastSeen: start + .seconds(1), subject: subject, isShared: isShared,
            settings: ClientSettings(locale: nil, timeZone: "Europe/Berlin"))
    }

    /// Fills the folder.
    func fill() async throws {
        let journal = try await journal()
        _ = try await journal.keep(Self.record())
        let shared = try await journal.keep(Self.record(Self.ann, isShared: true), credential: Self.credential(1))
        let change = CredentialChange(
            session: shared, expecting: Self.ann, subject: Self.ann,
            kept: [Self.credential(2), Self.credential(3, revokedUntil: Self.start + .seconds(60))])
        try await awaitResult { journal.change(change, done: $0) }.get()
        _ = try await journal.keep(Self.record(Self.ann), credential: Self.credential(1))
        // The remaining rows of a removed session.
        let removed = try await journal.keep(Self.record())
        try await journal.appendAll(of: removed)
        try await awaitResult { journal.remove(removed, tombstoneUntil: Self.start + .seconds(3_600), done: $0) }.get()
        let space = TestSession(
            key: try await journal.keep(TestSession.space("board:a")), record: TestSession.space("board:a"))
        var turn = space.turn()
        turn.rare = RareBatch(
            visits: [
                Visit(session: "v1", subject: Self.ann, lastUse: Self.start), Visit(session: "v2", lastUse: Self.start),
                Visit(session: "v3", subject: Self.forgotten, lastUse: Self.start),
            ], heard: Self.heard)
        let result: AppendResult = await awaitResult { done in
            if let result = journal.append(turn, done: done) { done(result) }
        }
        try #require(result.isCommitted)
        try await awaitResult {
            journal.purge(Self.forgotten, now: Self.start, tombstoneUntil: .zero, done: $0)
        }.get()
        for _ in 0..<3 { try await journal.appendAll(of: try await journal.keep(Self.record())) }
        try await awaitResult { journal.bury(Self.token(), until: Self.start + .seconds(600), done: $0) }.get()
        await journal.close()
        try file.rotateKey(now: Self.start, tokenLife: .seconds(86_400))
        try file.rotateKey(now: Self.start + .seconds(1), tokenLife: .seconds(86_400))
    }
}

extension SQLiteJournal {
    func keep(_ record: SessionRecord, credential: StoredCredential? = nil) async throws -> SessionKey {
        try await awaitResult { create(record, credential: credential, done: $0) }.get()
    }

    /// Appends twenty turns of all kinds, the last of which disposes of a store.
    fileprivate func appendAll(of session: SessionKey) async throws {
        let (counter, other) = (TestSession.counter, FeatureID(name: "order", key: "7"))
        var head = SessionHead.empty
        for turn in 1...20 as ClosedRange<UInt64> {
            let time = SourceFolder.start + .seconds(Int(turn))
            let next = SessionHead(number: turn * 2, nonce: .random(in: .min ... .max))
            func change(_ feature: FeatureID, _ kind: StoreChange.Kind, setsAside: String? = nil) -> StoreChange {
                StoreChange(
                    feature: feature, kind: kind, number: next.number, version: next.number, made: next.number,
                    schemaVersion: 3, state: kind == .disposed ? nil : Array("{\"n\":\(turn)}".utf8),
                    view: kind == .disposed ? nil : Array("[\(turn)]".utf8), viewIntent: turn == 1 ? nil : "i\(turn)",
                    setsAside: setsAside)
            }
            var batch = JournalBatch(session: session, expecting: head, head: next, time: time)
            switch turn {
            case 1: batch.stores = [change(counter, .made), change(other, .made)]
            case 9: batch.stores = [change(counter, .made, setsAside: "no \0 reason")]
            case 20: batch.stores = [change(other, .disposed)]
            default: batch.stores = [change(turn.isMultiple(of: 2) ? counter : other, .changed)]
            }
            batch.labels = (0..<2).map { index in
                StoredLabel(
                    id: LabelID(number: next.number, index: index), feature: counter, version: next.number,
                    intent: index == 0 ? nil : "i\0", json: Array("\"\(turn)\"".utf8),
                    expiry: time + .seconds(300), isWritten: turn < 5)
            }
            batch.receipts = [
                StoredReceipt(
                    key: .key("k\0\(turn)", feature: counter), number: next.number - 1,
                    bodyHash: SourceFolder.token().bytes, intent: "a", outcome: .ran(version: next.number),
                    made: time),
                StoredReceipt(
                    key: .sequence(turn, epoch: "c"), number: next.number, bodyHash: SourceFolder.token().bytes,
                    intent: "b", outcome: .refused(status: 422, body: Array("{}".utf8)), made: time),
            ]
            if turn == 3 {
                batch.reminders = (0..<2).map {
                    .set(
                        StoredReminder(
                            feature: counter, id: "r\($0)\0", due: time + .seconds(5), number: next.number,
                            action: Array("{}".utf8)))
                }
            }
            if turn == 6 {
                batch.firstLabel = LabelID(number: 4, index: 1)
                batch.lostLabels = try LostLabels(text: "1 counter=2! order:7=4")
                batch.forgottenReceipts = [.sequence(1, epoch: "c")]
            }
            let result: AppendResult = await awaitResult { done in
                if let result = append(batch, done: done) { done(result) }
            }
            try #require(result.isCommitted, "\(result)")
            let recording = RecordedTurn(
                number: next.number, feature: counter, time: time, recording: Array("{\"t\":1}".utf8))
            try await record([recording], of: session, keeping: 5)
            head = next
        }
    }
}
