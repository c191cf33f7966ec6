import Locking
import MVI
import SQLite
import SessionJournal
import Sessions
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Values in the journal's file that no server wrote, from a failing disk or a person with a tool.
@Suite(.timeLimit(.minutes(60))) struct DamagedRowTests {
    /// The number of random changes; `MVI_DAMAGED_ROWS=10000` for a long trial.
    private static let rounds = getenv("MVI_DAMAGED_ROWS").flatMap { Int(String(cString: $0)) } ?? 200

    private struct Note: Feature {
        struct State: Codable, Equatable, Sendable { var count = 0 }
        enum Intent: Codable, Equatable, Sendable { case add, say }
        enum Message: Codable, Equatable, Sendable { case added }
        enum Label: Codable, Equatable, Sendable { case said }

        static let name = "note"
        static let examples: [Intent] = [.add, .say]
        static let labelExamples: [Label] = [.said]
        let initialState = State()

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            switch intent {
            case .add: turn.dispatch(.added)
            case .say: turn.publish(.said)
            }
        }

        func reduce(_ state: inout State, _ message: Message) { state.count += 1 }
    }

    private func table(_ journal: SQLiteJournal) throws -> SessionTable {
        SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Note())]), limits: SessionLimits(), journal: journal))
    }

    private func send(
        _ body: String, _ name: IntentRequest.Name?, to session: Session
    ) async throws -> Result<IntentOutcome, StoreError> {
        let feature = try #require(FeatureID("note"))
        return await awaitResult { done in
            session.send(
                IntentRequest(body: Array(body.utf8), name: name), to: feature,
                record: { _ in RecordedRefusal(status: 422, body: Array("{}".utf8)) }, completion: done)
        }
    }

    /// Returns a folder with one session that has rows of every kind, and the session's token.
    private func folder() async throws -> (TemporaryFolder, SessionToken) {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let table = try table(journal)
        let made = await awaitResult { done in table.create(.bearer) { done($0) } }
        let token = try made.get().token
        let found = await awaitResult { done in table.find(token) { done($0) } }
        guard case .live(let session, _) = found else { throw StoreError(.gone, "no session was made") }
        for number in 1...4 {
            _ = try await send(#"{"type":"add"}"#, .key("key\(number)"), to: session).get()
            _ = try await send(#"{"type":"say"}"#, .sequence(UInt64(number), epoch: "epoch"), to: session).get()
        }
        // A refusal consumes its number and is stored.
        _ = try await send(#"{"type":"shout"}"#, .sequence(5, epoch: "epoch"), to: session)
        let id = session.id
        let export = try #require(try await awaitResult { journal.export(id, done: $0) }.get())
        try await keepMore(of: export.session.key, in: journal)
        await journal.close()
        return (folder, token)
    }

    /// Stores two credentials of the session, one of them revoked, and a reminder.
    private func keepMore(of key: SessionKey, in journal: SQLiteJournal) async throws {
        let credentials = (1...2).map { number in
            StoredCredential(
                token: TokenHash(Array(repeating: UInt8(number), count: 32)), kind: .bearer, number: number,
                principal: Array("{}".utf8), made: TestSession.start,
                revokedUntil: number == 1 ? TestSession.start : nil)
        }
        let change = CredentialChange(
            session: key, expecting: nil, subject: Subject(issuer: "i", id: "a"), kept: credentials)
        try await awaitResult { journal.change(change, done: $0) }.get()
        let head = try #require(try await awaitResult { journal.load(key, since: .empty, done: $0) }.get()).head
        let reminder = StoredReminder(
            feature: FeatureID(name: "note", key: nil), id: "late", due: .seconds(3_000_000_000),
            number: head.number + 1,
            action: Array("{}".utf8))
        let batch = JournalBatch(
            session: key, expecting: head, head: SessionHead(number: head.number + 1, nonce: 1),
            time: TestSession.start, reminders: [.set(reminder)])
        guard case .committed = await journal.append(batch) else { throw StoreError(.invalid, "it was not kept") }
    }

    /// Sends every request of a client for the session. Only the presence of a response matters here.
    private func use(_ token: SessionToken, _ table: SessionTable) async throws {
        let found = await awaitResult { done in table.find(token) { done($0) } }
        guard case .live(let session, _) = found else { return }
        let opened = await awaitResult { done in
            session.openStream(.all, from: .earliest) { done($0) }
        }
        if case .success(let stream) = opened {
            var bytes: [UInt8] = []
            reading: for _ in 0..<100 {
                switch stream.nextStep() {
                case .write(let more), .writeAll(let more): bytes += more
                case .wait, .finish: break reading
                }
            }
            // No row can forge a line.
            let text = String(decoding: bytes, as: UTF8.self)
            for line in text.split(separator: "\n") {
                #expect(line.starts(with: /: ok|retry: |id: |event: |data: \{/), "\(line)")
            }
            stream.closed()
        }
        for name in [nil, IntentRequest.Name.key("key1"), .sequence(3, epoch: "epoch"), .sequence(6, epoch: "epoch")] {
            _ = try await send(#"{"type":"add"}"#, name, to: session)
        }
        _ = await awaitResult { done in table.end(session) { done($0) } }
    }

    @Test func `no value of a row ends the process, hangs a client or forges a line of a stream`() async throws {
        let (sound, token) = try await folder()
        let columns = try await self.columns(of: sound)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<Self.rounds {
            let copy = try sound.copyAsAfterKill()
            let (table, keys, column) = try #require(columns.randomElement(using: &generator))
            let value = Self.values.randomElement(using: &generator) ?? .null
            let row = "SELECT \(keys) FROM \(table) ORDER BY random() LIMIT 1"
            let change = "UPDATE \(table) SET \(column) = ? WHERE (\(keys)) = (\(row))"
            do {
                var connection = try Connection(.file(copy.database))
                try connection.execute(change, [value])
            } catch {
                // The schema prevents it.
                continue
            }
            let journal = try await copy.journal()
            try await use(token, self.table(journal))
            await journal.close()
        }
    }

    @Test func `a session with a damaged row can be ended, and is gone then`() async throws {
        let (sound, token) = try await folder()
        let damage: [(String, SQLiteValue)] = [
            ("UPDATE sessions SET epoch = ?", .text("no epoch")),
            ("UPDATE labels SET json = ?", .blob(Array("{}\n\nevent: forged".utf8))),
            ("UPDATE receipts SET status = ?, version = NULL, body = x'7b7d'", .integer(Int64(101))),
            ("UPDATE stores SET version = ?", .integer(Int64(-1))),
            ("UPDATE credentials SET number = ? WHERE number = 2", .integer(Int64.max)),
            ("UPDATE credentials SET number = ? WHERE number = 1", .integer(Int64(0))),
            // These cannot even be read.
            ("UPDATE sessions SET id = ?", .text("../../escaped")),
            ("UPDATE stores SET number = ?", .integer(Int64(-1))),
            ("UPDATE sessions SET head = ?", .integer(Int64.min)),
            ("UPDATE sessions SET credential = ?", .text("fingerprint")),
            ("UPDATE sessions SET lost = ?", .text("1 what")),
            ("UPDATE stores SET feature = ?", .text("No Feature")),
            ("UPDATE receipts SET scope = ? WHERE scope = (SELECT scope FROM receipts LIMIT 1)", .text("kNo Feature")),
        ]
        for (change, value) in damage {
            let copy = try sound.copyAsAfterKill()
            do {
                var connection = try Connection(.file(copy.database))
                try connection.execute(change, [value])
            }
            let journal = try await copy.journal()
            let table = try table(journal)
            guard case .damaged(let session, let error) = await awaitResult({ done in table.find(token) { done($0) } })
            else {
                Issue.record("it was not found to be damaged by \(change)")
                continue
            }
            #expect(error.code == .unavailable && error.retryAfter != nil)
            // Repeated, from memory.
            guard case .damaged? = table.lookup(token) else {
                Issue.record("it was taken for sound")
                continue
            }
            try await awaitResult { done in table.end(session) { done($0) } }.get()
            guard case .ended? = table.lookup(token) else {
                Issue.record("it is not ended")
                continue
            }
            await journal.close()
            let rows = try SQLiteJournalFile(directory: copy.path).sessions(limit: 10)
            #expect(rows.isEmpty)
        }
    }

    @Test func `a recorded turn whose number is not below 2^63 is no turn`() async throws {
        let (sound, _) = try await folder()
        do {
            var connection = try Connection(.file(sound.database))
            try connection.execute(
                "INSERT INTO recordings SELECT key << 20, -1, 'note', 0, x'7b7d' FROM sessions")
        }
        let file = SQLiteJournalFile(directory: sound.path)
        let id = try #require(try file.sessions(limit: 1).first).id
        let error = #expect(throws: StoreError.self) { try file.export(id) }
        #expect(
            "\(error.map { "\($0)" } ?? "")".contains("holds '-1' where the number of a turn was expected")
        )
    }

    @Test func `times at the ends of time stop neither expiry nor reminders`() async throws {
        let (sound, _) = try await folder()
        let ends: [SQLiteValue] = [.integer(Int64.min), .integer(Int64.max)]
        let columns = ["sessions SET created", "sessions SET last_seen", "stores SET time", "reminders SET due"]
        for (column, value) in columns.flatMap({ column in ends.map { (column, $0) } }) {
            let copy = try sound.copyAsAfterKill()
            do {
                var connection = try Connection(.file(copy.database))
                try connection.execute("UPDATE sessions SET issuer = NULL, subject = NULL")
                try connection.execute("UPDATE \(column) = ?", [value])
                // Reclaiming only examines sessions without reminders.
                if !column.hasPrefix("reminders") { try connection.execute("UPDATE sessions SET reminded = 0") }
            }
            let journal = try await copy.journal()
            let table = try table(journal)
            _ = await table.fireDueReminders()
            let now = Duration.seconds(4_000_000_000)
            _ = try await awaitResult { done in
                journal.reclaim(
                    lastSeenBefore: now, usedFor: .seconds(10), tombstoneUntil: now, limit: 10, done: done)
            }.get()
            _ = try await awaitResult { done in
                journal.expire(
                    lastSeenBefore: PerLifeClass(now), now: now, tombstoneUntil: now, limit: 10, done: done)
            }.get()
            await journal.close()
        }
    }

    private static let values: [SQLiteValue] = [
        .integer(Int64(-1)), .integer(Int64(0)), .integer(Int64(1)), .integer(Int64(99)), .integer(Int64(101)),
        .integer(Int64(600)), .integer(Int64(-600)), .integer(Int64.max), .integer(Int64.max - 1), .integer(Int64.min),
        .integer(Int64(1) << 62), .null, .text(""), .text("garbage\nevent: x"),
        .text("\u{0}"), .blob([]), .blob([0xFF, 0x00]), .blob(Array("{\"a\":1}\n\ndata: {}".utf8)), .text("note"),
        .text("9223372036854775807"),
    ]

    /// Returns each column with its table and the columns of the table's key.
    private func columns(of folder: TemporaryFolder) async throws -> [(String, String, String)] {
        var connection = try Connection(.file(folder.database))
        var columns: [(String, String, String)] = []
        for table in ["sessions", "stores", "labels", "receipts", "credentials", "reminders"] {
            let names = try connection.query(
                "SELECT name, pk > 0 FROM pragma_table_info(?)", [.text(table)]
            ) { (name: try $0.text(0), isKey: try $0.int(1) != 0) }
            let keys = names.filter(\.isKey).map(\.name).joined(separator: ", ")
            columns += names.map { (table, keys, $0.name) }
        }
        return columns
    }
}
