import Locking
import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

/// Folders that older builds wrote: Tests/OlderJournals has dumps of real ones.
@Suite(.timeLimit(.minutes(10))) struct MigrationTests {
    /// A folder with the journal that a server of that schema wrote, and with a test's changes.
    private func oldFolder(schema: Int = 1, changes: String = "") throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let dump = #filePath.replacing(
            "JournalTests/SQLite/MigrationTests.swift", with: "OlderJournals/sqlite-\(schema).sql")
        var connection = try Connection(.file(folder.database))
        try connection.script(String(decoding: contents(dump), as: UTF8.self))
        try connection.script(changes)
        return folder
    }

    /// Returns the export of the session with a key. In the dump: 1 had an unreadable state, 2 has no turn, 3 two
    /// stores, 4 labels, 5 receipts, 6 a store that was disposed and created again, 7 lost labels, 8 too, and no store.
    private func export(_ key: Int64, of folder: TemporaryFolder) throws -> SessionExport {
        let file = SQLiteJournalFile(directory: folder.path)
        let id = try #require(try file.sessions(after: SessionKey(key - 1), limit: 1).first).id
        return try #require(try file.export(id))
    }

    private static let counter = TestSession.counter

    @Test(arguments: 1..<SQLiteSchema.migrations.count)
    func `a journal that a server of each earlier schema wrote goes on`(schema: Int) async throws {
        let folder = try oldFolder(schema: schema)
        let journal = try await folder.journal()
        #expect(journal.trouble == nil)
        let kept = try folder.file().sessions(after: nil, limit: 10)
        #expect(kept.count > 1)
        for each in kept {
            let old = try #require(try folder.file().export(each.id)).session
            guard old.stores.contains(where: { $0.feature == Self.counter }) else { continue }
            let session = TestSession(key: old.key, record: old.record)
            let head = try await journal.commit(["new"], of: session, after: old.head)
            #expect(head.number == old.head.number + 1)
        }
        // It can have spaces, beside sessions whose lifetimes are as before.
        let space = TestSession.space("board:a")
        _ = try await awaitResult { journal.create(space, done: $0) }.get()
        let far: Duration = .seconds(4_000_000_000)
        let lives = PerLifeClass(anonymous: far, unshared: far, shared: far, space: .zero)
        let expired = try await awaitResult {
            journal.expire(lastSeenBefore: lives, now: far, tombstoneUntil: far, limit: 100, done: $0)
        }.get()
        #expect(expired == kept.count { $0.space == nil })
        #expect(
            try await awaitResult { journal.find(.spaces(group: "board", after: nil), limit: 9, done: $0) }.get() == [
                space
            ])
        await journal.close()
        let again = try await folder.journal()
        #expect(again.trouble == nil)
        await again.close()
    }

    @Test func `sessions of schema 10 have no settings, and can have some`() async throws {
        let folder = try oldFolder(schema: 10)
        let journal = try await folder.journal()
        let old = try export(1, of: folder).session
        #expect(old.record.settings == nil && old.credentials.allSatisfy { $0.settings == nil })
        var change = CredentialChange(session: old.key, expecting: nil, subject: nil)
        let settings = ClientSettings(locale: "de-DE", timeZone: "Europe/Berlin")
        change.settings = .init(token: old.record.tokenHash, value: settings)
        try await awaitResult { [change] in journal.change(change, done: $0) }.get()
        await journal.close()
        #expect(try export(1, of: folder).session.record.settings == settings)
        await #expect(throws: JournalOpenError.self) {
            _ = try await folder.journal { $0.migrations = Array(SQLiteSchema.migrations.prefix(10)) }
        }
    }

    @Test func `sessions of schema 11 have received no message, and can receive some`() async throws {
        let folder = try oldFolder(schema: 11)
        let journal = try await folder.journal()
        let old = try export(1, of: folder).session
        #expect(old.record.settings != nil)
        var turn = TestSession(key: old.key, record: old.record).turn(after: old.head)
        turn.rare = RareBatch(heard: [HeardMessage(sender: Array(0..<16), number: 1)])
        #expect(await journal.append(turn).isCommitted)
        await journal.close()
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("SELECT count(*) FROM heard") { try $0.int(0) } == 1)
        await #expect(throws: JournalOpenError.self) {
            _ = try await folder.journal { $0.migrations = Array(SQLiteSchema.migrations.prefix(11)) }
        }
    }

    @Test func `a migration to schema 9 changes no row, and an older program refuses the journal`() async throws {
        let folder = try oldFolder(schema: 8)
        var connection = try Connection(.file(folder.database))
        let names = try connection.query("SELECT name FROM pragma_table_info('sessions') ORDER BY cid") {
            try $0.text(0)
        }
        func rows() throws -> [[SQLiteValue]] {
            try connection.query("SELECT \(names.joined(separator: ", ")) FROM sessions ORDER BY key") { row in
                try names.indices.map { try row.value($0) }
            }
        }
        let before = try rows()
        await (try await folder.journal()).close()
        let after = try rows()
        #expect(!before.isEmpty && "\(before)" == "\(after)")
        await #expect(throws: JournalOpenError.self) {
            _ = try await folder.journal { $0.migrations = Array(SQLiteSchema.migrations.prefix(8)) }
        }
    }

    @Test func `the names of spaces are unique in the database itself`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await awaitResult { journal.create(TestSession.space("board:a"), done: $0) }.get()
        await journal.close()
        var connection = try Connection(.file(folder.database))
        let error = #expect(throws: SQLiteError.self) {
            try connection.execute(
                """
                INSERT INTO sessions (token, id, epoch, credential, created, last_seen, space)
                SELECT randomblob(32), 'other', epoch, credential, created, last_seen, space FROM sessions
                """)
        }
        #expect(error?.code == .constraint)
    }

    @Test func `a journal of schema 3 goes on, its sessions anonymous and without reminders`() async throws {
        let folder = try oldFolder(schema: 3)
        let secret = try secret(of: folder)
        let journal = try await folder.journal()
        #expect(journal.trouble == nil)
        #expect(try await awaitResult { journal.secret(done: $0) }.get() == secret)
        // In the dump: 1 has a label and a receipt, 2 two stores.
        let sessions = try (1...2).map { try export($0, of: folder).session }
        #expect(sessions.map(\.head.number) == [4, 4])
        #expect(sessions.map(\.stores.count) == [1, 2])
        #expect(sessions[0].labels.map(\.id.number) == [3])
        #expect(sessions[0].receipts.map(\.key) == [.key("one", feature: Self.counter)])
        #expect(sessions.allSatisfy { $0.record.subject == nil && !$0.record.isShared })
        #expect(sessions.allSatisfy { $0.credentials.isEmpty && $0.reminders.isEmpty })

        // Its log continues, and it supports sign-in and reminders.
        let session = TestSession(key: sessions[0].key, record: sessions[0].record)
        let subject = Subject(issuer: "issuer", id: "ada")
        let credential = StoredCredential(
            token: TokenHash(Array(repeating: 7, count: 32)), kind: .cookie, number: 1, principal: [],
            made: TestSession.start)
        try await awaitResult { done in
            journal.change(
                CredentialChange(session: session.key, expecting: nil, subject: subject, kept: [credential]), done: done
            )
        }.get()
        let head = sessions[0].head
        let reminder = StoredReminder(
            feature: Self.counter, id: "late", due: .seconds(3_000_000_000), number: 5, action: [])
        let batch = JournalBatch(
            session: session.key, expecting: head, head: SessionHead(number: 5, nonce: 1),
            time: session.record.lastSeen, reminders: [.set(reminder)])
        #expect(await journal.append(batch).isCommitted)
        let loaded = try #require(try await journal.load(session).found)
        #expect(loaded.credentials == [credential] && loaded.reminders == [reminder])
        #expect(loaded.record.subject == subject && loaded.head == batch.head)
        // Expiry finds the other one by the new index.
        let expired = try await awaitResult { done in
            journal.expire(
                lastSeenBefore: PerLifeClass(.seconds(2_000_000_000)), now: TestSession.start,
                tombstoneUntil: TestSession.start,
                limit: 10, done: done)
        }.get()
        #expect(expired == 1)
        #expect(try await journal.load(session).found != nil)
        await journal.close()
    }

    @Test func `reminders of schema 7 have no pause, and can have one`() async throws {
        let folder = try oldFolder(schema: 3)
        do {
            var connection = try Connection(.file(folder.database))
            try JournalDatabase.migrate(&connection, from: 3, Array(SQLiteSchema.migrations.prefix(7)))
            try connection.script(
                """
                INSERT INTO reminders VALUES (1, 'counter', 'a', 5, 4, x'7B7D'), (1, 'counter', 'b', 7, 4, x'7B7D');
                UPDATE sessions SET reminded = 1 WHERE key = 1
                """)
        }
        let journal = try await folder.journal()
        let session = try export(1, of: folder).session
        let alarms = { try await awaitResult { journal.alarms(after: nil, limit: 10, done: $0) }.get().map(\.due) }
        var (first, other) = (session.reminders[0], session.reminders[1])
        #expect(first.due == .nanoseconds(5) && first.notBefore == .zero && first.number == 4)
        #expect(try await alarms() == [first.due, other.due])
        (first.notBefore, other.number) = (.nanoseconds(9), 5)
        let touch = SessionTouch(session: session.key, lastSeen: .zero, written: [], reminders: [first, other])
        try await awaitResult { journal.touch([touch], done: $0) }.get()
        #expect(try await alarms() == [.nanoseconds(7), .nanoseconds(9)])
        #expect(try export(1, of: folder).session.reminders.map(\.notBefore) == [.nanoseconds(9), .zero])
        await journal.close()
    }

    @Test func `a backup of schema 3 that is restored has another generation`() async throws {
        let (old, folder) = (try oldFolder(schema: 3), try TemporaryFolder())
        let secret = try secret(of: old)
        #expect(try folder.file().restore(from: old.database) == 2)
        let journal = try await folder.journal()
        let restored = try await awaitResult { journal.secret(done: $0) }.get()
        #expect(restored.key == secret.key && restored.generation != secret.generation)
        await journal.close()
    }

    private func secret(of folder: TemporaryFolder) throws -> JournalSecret {
        var connection = try Connection(.file(folder.database))
        return try connection.secret()
    }

    @Test func `a journal of schema 1 goes on with all that its clients know`() async throws {
        let folder = try oldFolder()
        let journal = try await folder.journal()
        #expect(journal.trouble == nil)
        await journal.close()

        // Above every number and version that clients know.
        let heads = try (1...8).map { try export($0, of: folder).session.head }
        #expect(heads.map(\.number) == [5, 0, 8, 4, 6, 9, 6, 6])
        #expect(heads[1] == .empty)
        #expect(Set(heads.map(\.nonce)).count == 8, "random bits but for the session without turns")
        let epochs = try (1...8).map { try export($0, of: folder).session.record.epoch }
        #expect(epochs[2] == "cf76lvoghfxu2" && Set(epochs).count == 8)

        // 1 wrote four turns, 6 the numbers 5 to 8.
        #expect(try export(1, of: folder).turns.map(\.number) == [1, 2, 3, 4])
        #expect(try export(6, of: folder).turns.map(\.number) == [5, 6, 7, 8])

        // Versions are in ETags.
        let plain = try export(3, of: folder)
        #expect(
            plain.session.stores == [
                StoreSummary(feature: Self.counter, number: 4, version: 4, made: 0, replaced: 0),
                StoreSummary(
                    feature: FeatureID(name: "user-info", key: nil), number: 7, version: 2, made: 0, replaced: 0),
            ])
        #expect(plain.stores[0].state == Array(#"{"count":3,"isLoading":false}"#.utf8))
        #expect(plain.stores[0].viewIntent == "slodsoevl4xso")
        #expect(plain.turns.map(\.number) == [4, 5, 6, 7])

        let unreadable = try export(1, of: folder)
        #expect(unreadable.setAside.map(\.state) == [Array(#"{"count":"no number"}"#.utf8)])
        #expect(unreadable.session.stores.map(\.replaced) == [3] && unreadable.session.stores.map(\.made) == [3])

        let receipts = try export(5, of: folder).session.receipts
        #expect(
            receipts.map(\.key) == [
                .key("one", feature: Self.counter), .sequence(1, epoch: "tab"), .sequence(2, epoch: "tab"),
                .sequence(3, epoch: "tab"), .sequence(1, epoch: "other"),
            ])
        #expect(receipts.map(\.number) == [1, 2, 3, 4, 5])
        #expect(receipts[0].outcome == .ran(version: 2))
        guard case .refused(status: 422, let body) = receipts[2].outcome else { throw CancellationError() }
        #expect(String(decoding: body, as: UTF8.self).contains("/problems/invalid-intent"))
    }

    @Test func `the record of labels of schema 1 becomes the record of lost labels`() async throws {
        let folder = try oldFolder()
        await (try await folder.journal()).close()
        let labels = try export(4, of: folder).session
        #expect(labels.labels.map(\.id) == [LabelID(number: 2, index: 0), LabelID(number: 3, index: 0)])
        #expect(labels.lostLabels.hasAny && labels.lostLabels.dropped.isEmpty)
        let dropped = try export(7, of: folder).session
        #expect(dropped.lostLabels.hasAny)
        #expect(dropped.lostLabels.dropped == [Self.counter: .init(number: 2, isUnheard: true)])
        // Without a store, the record belongs to a feature that no server has: streams of all features report it.
        let gone = try export(8, of: folder).session
        #expect(gone.stores.isEmpty && gone.lostLabels.dropped.values.map(\.number) == [3])
        for key: Int64 in [1, 2, 3, 5, 6] {
            let lost = try export(key, of: folder).session.lostLabels
            #expect(lost == LostLabels())
        }
    }

    @Test func `the log of a session of schema 1 goes on from its head`() async throws {
        let folder = try oldFolder()
        let journal = try await folder.journal()
        for key in [3, 6] {
            let old = try export(Int64(key), of: folder).session
            let session = TestSession(key: old.key, record: old.record)
            #expect(try await journal.load(session).found?.head == old.head)
            #expect(try await journal.news(session, since: .empty)?.recentHeads == [old.head])
            let head = try await journal.commit(["new"], of: session, after: old.head)
            #expect(head.number == old.head.number + 1)
            let news = try #require(try await journal.news(session, since: old.head))
            #expect(news.recentHeads == [old.head, head])
            #expect(news.changed.map(\.summary.feature) == [Self.counter])
            #expect(news.labels.map(\.id.number) == [head.number])
            // The next store gets a new place.
            let made = session.turn(after: head, of: FeatureID(name: "late", key: nil))
            #expect(await journal.append(made).isCommitted)
            #expect(try await journal.load(session).found?.stores.count == old.stores.count + 1)
        }
        // A log without turns starts.
        let fresh = try export(2, of: folder).session
        let head = try await journal.commit(["1"], of: TestSession(key: fresh.key, record: fresh.record))
        #expect(head.number == 1)
        await journal.close()
        let again = try await folder.journal()
        #expect(again.trouble == nil)
        #expect(try export(2, of: folder).session.head == head)
        await again.close()
    }

    @Test func `an epoch of schema 1 whose last number has no receipt is forgotten, the others stay`() async throws {
        let folder = try oldFolder(
            changes: """
                UPDATE epochs SET number = 9 WHERE epoch = 'tab';
                INSERT INTO epochs VALUES (5, 'without any', 7);
                """)
        await (try await folder.journal()).close()
        let session = try export(5, of: folder).session
        #expect(session.receipts.map(\.key) == [.key("one", feature: Self.counter), .sequence(1, epoch: "other")])
        #expect(session.receipts.map(\.number) == [1, 5] && session.head.number == 6)
    }

    @Test func `the head of a session of schema 1 is above its floors, its receipts and what its stores remember`()
        async throws
    {
        let folder = try oldFolder(
            changes: """
                UPDATE sessions SET version_floor = 40 WHERE key = 3;
                UPDATE sessions SET sequence_floor = 50 WHERE key = 4;
                UPDATE receipts SET place = 60 WHERE session = 5 AND place = 1;
                UPDATE stores SET version = 70 WHERE id >> 16 = 6;
                UPDATE sessions SET dropped = 1, flags = 2 WHERE key = 3;
                UPDATE stores SET flags = 1 WHERE id >> 16 = 3;
                INSERT INTO receipts SELECT 2, scope, name, 80, made, intent, version, status, body_hash, body
                    FROM receipts WHERE session = 5 AND scope = 'kcounter';
                """)
        await (try await folder.journal()).close()
        let sessions = try (2...6).map { try export($0, of: folder).session }
        #expect(sessions.map(\.head.number) == [81, 41, 51, 61, 71])
        #expect(sessions[4].stores.map(\.version) == [70])
        // The session's record of labels applies to each of its stores.
        #expect(sessions[1].lostLabels.dropped.mapValues(\.number).values.sorted() == [1, 1])
        #expect(sessions[1].lostLabels.dropped.values.allSatisfy { $0.isUnheard })
    }
}
