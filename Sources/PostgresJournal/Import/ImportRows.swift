import MVI
import PostgreSQL
import SessionJournal

/// The rows of imported sessions.
struct ImportRows {
    fileprivate enum Table: Int, CaseIterable {
        case sessions, heads, tokens, credentials, stores, labels, receipts, reminders, recordings, setAside, visits,
            senders, endedTokens
    }

    /// The difference between a session's new and old key.
    let offset: Int64
    /// The present era, and the database's present past.
    let era: Int64
    let past: Int64
    /// The approximate size of the rows in bytes.
    private(set) var bytes = 0
    private(set) var hasSpaces = false
    private var tables = Table.allCases.map { TableRows($0.table) }

    init(offset: Int64, era: Int64, past: Int64) { (self.offset, self.era, self.past) = (offset, era, past) }

    /// The number of sessions' tokens.
    var tokenCount: Int { tables[Table.tokens.rawValue].count }

    /// Returns the insertions and removes their rows here. The first one inserts the tokens, if there are any.
    mutating func take(into schema: String) -> [PostgresStatement] {
        bytes = 0
        let order = [Table.tokens] + Table.allCases.filter { $0 != .tokens }
        return order.compactMap { tables[$0.rawValue].take(into: schema) }
    }

    // MARK: Adding

    private mutating func add(_ table: Table, _ cells: ParameterRows.Cell...) { add(table, cells) }

    private mutating func add(_ table: Table, _ cells: [ParameterRows.Cell]) {
        bytes += cells.reduce(0) { $0 + $1.size }
        tables[table.rawValue].append(cells)
    }

    mutating func add(endedToken token: TokenHash, until: Duration) {
        add(.endedTokens, .time(until), .bytea(token.bytes))
    }

    /// - Parameter flush: Called to take the rows when there are many.
    mutating func add(_ export: SessionExport, flush: (inout ImportRows) throws -> Void) throws {
        let (session, record) = (export.session, export.session.record)
        let key = ParameterRows.Cell.int8(session.key.number + offset)
        add(
            .sessions, key, .bytea(record.tokenHash.bytes), .utf8(record.id), .text(record.credential.rawValue),
            .time(record.created), .time(record.lastSeen), .utf8(record.subject?.issuer), .utf8(record.subject?.id),
            .bool(record.isShared), .bool(!session.reminders.isEmpty), .text(record.space?.text),
            .text(record.settings?.text))
        if record.space != nil { hasSpaces = true }
        addHead(of: session, key)
        for token in Set([record.tokenHash] + session.credentials.map(\.token)) {
            add(.tokens, key, .bytea(token.bytes))
        }
        func addAll<Value>(_ values: [Value], _ kind: RowKind<Value>, _ table: Table) throws {
            for value in values {
                add(table, [key] + kind.cells(value))
                try flush(&self)
            }
        }
        try addAll(session.credentials, Rows.credentials, .credentials)
        try addAll(export.stores, Rows.stores, .stores)
        try addAll(session.labels, Rows.labels, .labels)
        try addAll(session.receipts, Rows.receipts, .receipts)
        try addAll(session.reminders, Rows.reminders, .reminders)
        try addAll(export.turns, Rows.recordings, .recordings)
        try addAll(export.setAside, Rows.setAside, .setAside)
        try addAll(export.visits, Rows.visits, .visits)
        try addAll(export.senders, Rows.senders, .senders)
        try flush(&self)
    }

    private mutating func addHead(of session: StoredSession, _ key: ParameterRows.Cell) {
        let (head, record) = (session.head, session.record)
        let earlier = session.recentHeads.dropLast().reversed().prefix(SessionHead.remembered - 1)
        add(
            .heads, key, .bits(head.number), .bits(head.nonce),
            .bytea(earlier.flatMap { Self.bytes($0.number) + Self.bytes($0.nonce) }), .time(record.lastSeen),
            .utf8(record.epoch), .utf8(session.lostLabels.text), .int8(session.labels.isEmpty ? nil : era), .int8(past))
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
}

extension ImportRows.Table {
    fileprivate var table: RowTable {
        switch self {
        case .sessions:
            RowTable(
                "sessions",
                """
                bytea token, bytea id, text credential, int8 created, int8 noted, bytea issuer, bytea subject, \
                bool shared, bool reminded, text space, text client
                """, key: "key")
        case .heads:
            RowTable(
                "heads",
                """
                int8 number, int8 nonce, bytea recent, int8 seen, bytea epoch, bytea lost, int8 label_era, int8 past
                """, key: "key")
        case .tokens:
            // A token that ended here becomes valid again, as after a restore. Another session's token stays and is
            // reported.
            RowTable(
                "tokens", "bytea token",
                conflict: """
                    ON CONFLICT (token) DO UPDATE SET session = excluded.session, until = NULL WHERE t.session IS NULL
                    """)
        case .endedTokens:
            RowTable(
                "tokens", "bytea token", key: "until",
                conflict: """
                    ON CONFLICT (token) DO UPDATE SET until = greatest(t.until, excluded.until) WHERE t.session IS NULL
                    """)
        case .credentials: Rows.credentials.table
        case .stores: Rows.stores.table
        case .labels: Rows.labels.table
        case .receipts: Rows.receipts.table
        case .reminders: Rows.reminders.table
        case .recordings: Rows.recordings.table
        case .setAside: Rows.setAside.table
        case .visits: Rows.visits.table
        case .senders: Rows.senders.table
        }
    }
}
