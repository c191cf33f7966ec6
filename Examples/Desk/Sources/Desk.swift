import SQLite

/// The desk's database, which customers and staff share. Its queries can be watched.
struct Desk: Sendable {
    /// A ticket in a list.
    struct Summary: Codable, Equatable, Sendable, Identifiable {
        let id: Int
        let title, customer: String
        let isOpen: Bool
    }
    /// The newest tickets that a person may see, and the number of all of them.
    struct List: Codable, Equatable, Sendable {
        var tickets: [Summary] = []
        var count = 0
    }
    /// What somebody did in a ticket. Its id is made by the client's intent, so that it is stored once.
    struct Entry: Codable, Equatable, Sendable, Identifiable {
        enum Kind: String, Codable, Sendable { case comment, close, reopen }

        let id, author: String
        let kind: Kind
        var text = ""
    }
    /// A ticket with its newest entries.
    struct Content: Codable, Equatable, Sendable {
        let ticket: Summary
        let entries: [Entry]
        /// Grows with each change of the ticket.
        let number: Int
    }
    struct Mail: Codable, Equatable, Sendable, Identifiable {
        let id: Int
        let receiver, text: String
    }

    let staff: Set<String>
    private let thread: DatabaseThread
    private let changes = Changes()

    /// Blocks while the database is opened.
    init(_ location: Connection.Location, staff: Set<String>) throws {
        var connection = try Connection(location)
        try connection.script(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA secure_delete = ON;
            CREATE TABLE IF NOT EXISTS tickets (
                id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL UNIQUE, customer TEXT NOT NULL,
                title TEXT NOT NULL, open INTEGER NOT NULL DEFAULT 1);
            CREATE INDEX IF NOT EXISTS tickets_of_customer ON tickets (customer);
            CREATE TABLE IF NOT EXISTS entries (
                number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, ticket INTEGER NOT NULL REFERENCES tickets,
                author TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
            CREATE INDEX IF NOT EXISTS entries_of_ticket ON entries (ticket, number);
            CREATE TABLE IF NOT EXISTS mails (
                id INTEGER PRIMARY KEY, ticket INTEGER NOT NULL REFERENCES tickets, receiver TEXT NOT NULL,
                text TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0);
            CREATE INDEX IF NOT EXISTS mails_to_send ON mails (id) WHERE NOT sent;
            """)
        thread = try DatabaseThread(owning: connection)
        self.staff = staff
    }

    /// Completes what was begun, then closes the database.
    func close() async { await thread.close() }

    // MARK: Reading

    /// Returns what a query returns now, and again after changes.
    func watch<Value: Sendable>(
        _ query: @escaping @Sendable (inout Connection) throws -> Value
    ) async -> AsyncThrowingMapSequence<AsyncStream<Void>, Value> {
        await changes.stream().map { [thread] in try await thread.perform(query) }
    }

    /// The person's tickets; for staff, everybody's.
    func tickets(of person: String) async -> AsyncThrowingMapSequence<AsyncStream<Void>, List> {
        let all = staff.contains(person)
        return await watch { connection in
            let person = SQLiteValue.text(all ? "" : person)
            return List(
                tickets: try connection.query(
                    """
                    SELECT id, title, customer, open FROM tickets WHERE ?1 = '' OR customer = ?1
                    ORDER BY id DESC LIMIT 50
                    """, [person]
                ) { row in try Summary(row) },
                count: try connection.first("SELECT count(*) FROM tickets WHERE ?1 = '' OR customer = ?1", [person]) {
                    row in try row.int(0)
                } ?? 0)
        }
    }

    /// A ticket; nil if there is none that the person may see.
    func ticket(_ id: Int, for person: String) async -> AsyncThrowingMapSequence<AsyncStream<Void>, Content?> {
        await watch { [self] connection in try content(of: id, for: person, &connection) }
    }

    private func content(of id: Int, for person: String, _ connection: inout Connection) throws -> Content? {
        guard let ticket = try visible(id, to: person, &connection) else { return nil }
        var number = 0
        let entries = try connection.query(
            "SELECT id, author, kind, text, number FROM entries WHERE ticket = ? ORDER BY number DESC LIMIT 100",
            [.integer(id)]
        ) { row in
            number = max(number, try row.int(4))
            return Entry(
                id: try row.text(0), author: try row.text(1),
                kind: Entry.Kind(rawValue: try row.text(2)) ?? .comment,
                text: try row.text(3))
        }
        return Content(ticket: ticket, entries: entries.reversed(), number: number)
    }

    /// Returns the ticket if there is one that the person may see.
    func find(_ id: Int, for person: String) async throws -> Summary? {
        try await thread.perform { try visible(id, to: person, &$0) }
    }

    private func visible(_ id: Int, to person: String, _ connection: inout Connection) throws -> Summary? {
        let ticket = try connection.first(
            "SELECT id, title, customer, open FROM tickets WHERE id = ?", [.integer(id)]
        ) { row in try Summary(row) }
        return staff.contains(person) || ticket?.customer == person ? ticket : nil
    }

    // MARK: Writing

    /// Opens a ticket, once for each request, and returns its number.
    func open(_ title: String, by customer: String, request: String) async throws -> Int {
        try await write { connection in
            try connection.execute(
                "INSERT INTO tickets (request, customer, title) VALUES (?, ?, ?) ON CONFLICT (request) DO NOTHING",
                [.text(request), .text(customer), .text(title)])
            return try connection.first("SELECT id FROM tickets WHERE request = ?", [.text(request)]) { row in
                try row.int(0)
            } ?? 0
        }
    }

    /// Adds an entry and the mail about it, once for each entry's id, and never to a ticket that was deleted. Returns
    /// the ticket after that, as its author sees it.
    func add(_ entry: Entry, to ticket: Int) async throws -> Content? {
        try await write { [self] connection in
            try insert(entry, to: ticket, &connection)
            return try content(of: ticket, for: entry.author, &connection)
        }
    }

    private func insert(_ entry: Entry, to ticket: Int, _ connection: inout Connection) throws {
        let count = try connection.first("SELECT count(*) FROM tickets WHERE id = ?", [.integer(ticket)]) { row in
            try row.int(0)
        }
        guard count == 1 else { return }
        let added = try connection.execute(
            """
            INSERT INTO entries (id, ticket, author, kind, text) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO NOTHING
            """,
            [
                .text(entry.id), .integer(ticket), .text(entry.author), .text(entry.kind.rawValue),
                .text(entry.text),
            ])
        guard added > 0 else { return }
        if entry.kind != .comment {
            try connection.execute(
                "UPDATE tickets SET open = ? WHERE id = ?", [entry.kind == .reopen ? 1 : 0, .integer(ticket)])
        }
        try connection.execute(
            """
            INSERT INTO mails (ticket, receiver, text)
            SELECT id, CASE WHEN customer = ?1 THEN 'staff' ELSE customer END, 'Ticket ' || id || ': ' || ?2
            FROM tickets WHERE id = ?3
            """,
            [
                .text(entry.author), .text(entry.kind == .comment ? entry.text : entry.kind.rawValue),
                .integer(ticket),
            ])
    }

    /// Deletes a person's tickets with all entries and mails, and the person's name from others' tickets.
    func forget(_ person: String) async throws {
        try await write { try Self.forget(person, in: &$0) }
    }

    private static func forget(_ person: String, in connection: inout Connection) throws {
        for table in ["entries", "mails"] {
            try connection.execute(
                "DELETE FROM \(table) WHERE ticket IN (SELECT id FROM tickets WHERE customer = ?)", [.text(person)])
        }
        try connection.execute("DELETE FROM tickets WHERE customer = ?", [.text(person)])
        try connection.execute("UPDATE entries SET author = '' WHERE author = ?", [.text(person)])
    }

    /// Deletes those persons from a restored database who were deleted since.
    static func forget(in connection: inout Connection, if isDeleted: (String) -> Bool) throws {
        let persons = try connection.query("SELECT customer FROM tickets UNION SELECT author FROM entries") { row in
            try row.text(0)
        }
        try connection.transaction { connection in
            for person in persons where isDeleted(person) { try forget(person, in: &connection) }
        }
    }

    // MARK: Mails

    /// The oldest mail that was not sent yet.
    func nextMail() async -> AsyncThrowingMapSequence<AsyncStream<Void>, Mail?> {
        await watch { connection in
            try connection.first("SELECT id, receiver, text FROM mails WHERE NOT sent ORDER BY id LIMIT 1") { row in
                Mail(id: try row.int(0), receiver: try row.text(1), text: try row.text(2))
            }
        }
    }

    func noteSent(_ mail: Mail) async throws {
        _ = try await write { connection in
            try connection.execute("UPDATE mails SET sent = 1 WHERE id = ?", [.integer(mail.id)])
        }
    }

    // MARK: Changes

    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (inout Connection) throws -> Value
    ) async throws -> Value {
        let value = try await thread.perform { try $0.transaction { try body(&$0) } }
        await changes.tell()
        return value
    }

    /// Notices changes by other programs, such as `sqlite3 desk.sqlite`, each second until it is canceled.
    func watchOthers() async throws {
        var last: Int?
        while true {
            let version = try await thread.perform { try $0.first("PRAGMA data_version") { row in try row.int(0) } }
            if last != nil, last != version { await changes.tell() }
            last = version
            try await Task.sleep(for: .seconds(1))
        }
    }
}

extension Desk.Summary {
    fileprivate init(_ row: borrowing Row) throws {
        self.init(id: try row.int(0), title: try row.text(1), customer: try row.text(2), isOpen: try row.int(3) != 0)
    }
}

/// Tells all watched queries that the database has changed.
private actor Changes {
    private var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    private var count = 0

    /// An element at once, and one after each change. Changes in the meantime are one element.
    func stream() -> AsyncStream<Void> {
        let (stream, watcher) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        count += 1
        let number = count
        watchers[number] = watcher
        watcher.onTermination = { [weak self] _ in Task { await self?.remove(number) } }
        watcher.yield()
        return stream
    }

    func tell() { for watcher in watchers.values { watcher.yield() } }

    private func remove(_ number: Int) { watchers[number] = nil }
}
