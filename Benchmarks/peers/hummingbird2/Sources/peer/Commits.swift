import GRDB

/// Keeps sessions, states and answers in SQLite, synced at each commit: one transaction for all that came while the last
/// one was under way.
actor Commits {
    private struct Taken {
        let session: Session
        /// Nil where the session itself is to be kept.
        let intent: (feature: String, amount: Int, key: String?)?
        let continuation: CheckedContinuation<String, Never>
    }

    private struct Rows {
        var sessions: [Session] = []
        var stores: [StoreName: Store] = [:]
        var answers: [(session: String, slot: Int, key: String, text: String)] = []
    }

    private struct StoreName: Hashable {
        let session: String
        let feature: String
    }

    private let database: DatabaseQueue
    private var waiting: [Taken] = []
    private var isBusy = false
    private var answers: [String: Answers] = [:]

    /// Fills the table with the sessions that the file has. Streams start anew: labels and cursors are in memory.
    init(path: String, _ table: SessionTable) throws {
        var configuration = Configuration()
        configuration.journalMode = .wal
        database = try DatabaseQueue(path: path, configuration: configuration)
        let restored = try database.writeWithoutTransaction { db in
            // GRDB's own choice is NORMAL, which may lose commits.
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL;
                    CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, token TEXT) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS stores (
                        session TEXT, feature TEXT, count INTEGER, version INTEGER, intent TEXT,
                        PRIMARY KEY (session, feature)
                    ) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS answers (
                        session TEXT, slot INTEGER, key TEXT, text TEXT, PRIMARY KEY (session, slot)
                    ) WITHOUT ROWID
                    """)
            var sessions: [String: Session] = [:]
            for row in try Row.fetchAll(db, sql: "SELECT * FROM sessions") {
                sessions[row["id"]] = Session(id: row["id"], token: row["token"])
            }
            for row in try Row.fetchAll(db, sql: "SELECT * FROM stores") {
                guard var store = Store(feature: row["feature"]) else { continue }
                store.count = row["count"]
                store.version = row["version"]
                store.intent = row["intent"]
                sessions[row["session"]]?.show(store)
            }
            var answers: [String: Answers] = [:]
            for row in try Row.fetchAll(db, sql: "SELECT * FROM answers") {
                _ = answers[row["session"], default: Answers()].keep(row["text"], for: row["key"])
            }
            return (sessions, answers)
        }
        for session in restored.0.values { table.insert(session) }
        answers = restored.1
    }

    func keep(_ session: Session) async { _ = await commit(session, nil) }

    /// Returns the answer once the state is in the database; the earlier one if the key is a repeated one.
    func add(_ amount: Int, to feature: String, of session: Session, key: String?) async -> String {
        await commit(session, (feature, amount, key))
    }

    private func commit(_ session: Session, _ intent: (feature: String, amount: Int, key: String?)?) async -> String {
        await withCheckedContinuation { continuation in
            waiting.append(Taken(session: session, intent: intent, continuation: continuation))
            if isBusy { return }
            isBusy = true
            Task { await run() }
        }
    }

    private func run() async {
        while !waiting.isEmpty {
            let batch = waiting
            waiting = []
            var rows = Rows()
            let results = batch.map { apply($0, &rows) }
            do {
                try await database.write { [rows] in try Self.insert(rows, $0) }
            } catch {
                fatalError("not committed: \(error)")
            }
            for (taken, result) in zip(batch, results) {
                if let store = result.store { taken.session.show(store) }
                taken.continuation.resume(returning: result.text)
            }
        }
        isBusy = false
    }

    /// An intent's new state, hidden until the commit, and its answer.
    private func apply(_ taken: Taken, _ rows: inout Rows) -> (store: Store?, text: String) {
        guard let intent = taken.intent else {
            rows.sessions.append(taken.session)
            return (nil, "")
        }
        let session = taken.session
        if let key = intent.key, let known = answers[session.id]?.texts[key] { return (nil, known) }
        let name = StoreName(session: session.id, feature: intent.feature)
        guard var store = rows.stores[name] ?? session.store(intent.feature) else { return (nil, "") }
        store.add(intent.amount, intent: Random.text(bytes: 8))
        rows.stores[name] = store
        let text = session.acceptance(store)
        if let key = intent.key {
            let slot = answers[session.id, default: Answers()].keep(text, for: key)
            rows.answers.append((session.id, slot, key, text))
        }
        return (store, text)
    }

    private static func insert(_ rows: Rows, _ db: Database) throws {
        for session in rows.sessions {
            try db.cachedStatement(sql: "INSERT INTO sessions VALUES (?, ?)").execute(arguments: [
                session.id, session.token,
            ])
        }
        for (name, store) in rows.stores {
            try db.cachedStatement(sql: "REPLACE INTO stores VALUES (?, ?, ?, ?, ?)")
                .execute(arguments: [name.session, name.feature, store.count, store.version, store.intent])
        }
        for answer in rows.answers {
            try db.cachedStatement(sql: "REPLACE INTO answers VALUES (?, ?, ?, ?)")
                .execute(arguments: [answer.session, answer.slot, answer.key, answer.text])
        }
    }
}
