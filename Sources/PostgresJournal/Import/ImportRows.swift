import MVI
import PostgreSQL
import SessionJournal

/// The rows of imported sessions.
struct ImportRows {
    fileprivate enum Table: Int, CaseIterable {
        case sessions, heads, tokens, credentials, stores, labels, receipts, reminders, recordings, setAside,
            endedTokens
    }

    /// The difference between a session's new and old key.
    let offset: Int64
    /// The present era, and the database's present past.
    let era: Int64
    let past: Int64
    /// The approximate size of the rows in bytes.
    private(set) var bytes = 0
    private var tables = Table.allCases.map(\.empty)

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

    private mutating func add(_ table: Table, _ cells: ParameterRows.Cell...) {
        bytes += cells.reduce(0) { $0 + $1.size }
        tables[table.rawValue].append(cells)
    }

    mutating func add(endedToken token: TokenHash, until: Duration) {
        add(.endedTokens, .bytea(token.bytes), .time(until))
    }

    /// - Parameter flush: Called to take the rows when there are many.
    mutating func add(_ export: SessionExport, flush: (inout ImportRows) throws -> Void) throws {
        let (session, record) = (export.session, export.session.record)
        let number = session.key.number + offset
        let key = ParameterRows.Cell.int8(number)
        add(
            .sessions, key, .bytea(record.tokenHash.bytes), .utf8(record.id), .text(record.credential.rawValue),
            .time(record.created), .time(record.lastSeen), .utf8(record.subject?.issuer), .utf8(record.subject?.id),
            .bool(record.isShared), .bool(!session.reminders.isEmpty))
        addHead(of: session, key)
        for token in Set([record.tokenHash] + session.credentials.map(\.token)) {
            add(.tokens, .bytea(token.bytes), key)
        }
        for credential in session.credentials {
            add(
                .credentials, key, .int8(Int64(credential.number)), .bytea(credential.token.bytes),
                .text(credential.kind.rawValue), .time(credential.made), .time(credential.lastSeen),
                .int8(credential.revokedUntil?.nanoseconds),
                // Servers of older builds expect one in the rows of revoked credentials.
                .bytea(credential.revokedUntil == nil ? nil : []), .bytea(credential.principal))
        }
        for store in export.stores {
            let summary = store.summary
            add(
                .stores, key, .feature(summary.feature), .bits(summary.number), .bits(summary.version),
                .bits(summary.made), .bits(summary.replaced), .int8(Int64(store.schemaVersion)),
                .utf8(store.viewIntent), .bytea(store.state), .bytea(store.view))
            try flush(&self)
        }
        for label in session.labels {
            add(
                .labels, .int8(era), key, .bits(label.id.number), .int8(Int64(label.id.index)),
                .feature(label.feature), .bits(label.version), .utf8(label.intent), .time(label.expiry),
                .bool(label.isWritten), .bytea(label.json))
        }
        for receipt in session.receipts { add(receipt, of: key) }
        for reminder in session.reminders {
            add(
                .reminders, key, .feature(reminder.feature), .utf8(reminder.id), .time(reminder.due),
                .bits(reminder.number), .bytea(reminder.action), .time(reminder.notBefore))
        }
        for turn in export.turns {
            add(
                .recordings, key, .bits(turn.number), .feature(turn.feature), .time(turn.time),
                .bytea(turn.recording))
            try flush(&self)
        }
        for state in export.setAside {
            add(
                .setAside, key, .feature(state.feature), .time(state.time), .utf8(state.reason),
                .int8(Int64(state.schemaVersion)), .bytea(state.state))
            try flush(&self)
        }
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

    private mutating func add(_ receipt: StoredReceipt, of key: ParameterRows.Cell) {
        let columns = ReceiptColumns(receipt.key)
        var (version, status, body): (UInt64?, Int64?, [UInt8]?)
        switch receipt.outcome {
        case .ran(let ran): version = ran
        case .refused(let code, let text): (status, body) = (Int64(code), text)
        }
        add(
            .receipts, .int8(era), key, .int8(columns.hash), .bytea(columns.scope), .bytea(columns.name),
            .bits(receipt.number), .time(receipt.made), .utf8(receipt.intent), .bits(version), .int8(status),
            .bytea(receipt.bodyHash), .bytea(body))
    }
}

extension ImportRows.Table {
    /// An empty table of this kind.
    fileprivate var empty: TableRows {
        switch self {
        case .sessions:
            TableRows(
                "sessions",
                [
                    ("key", .ints), ("token", .bytes), ("id", .bytes), ("credential", .texts), ("created", .ints),
                    ("noted", .ints), ("issuer", .bytes), ("subject", .bytes), ("shared", .bools),
                    ("reminded", .bools),
                ])
        case .heads:
            TableRows(
                "heads",
                [
                    ("key", .ints), ("number", .ints), ("nonce", .ints), ("recent", .bytes), ("seen", .ints),
                    ("epoch", .bytes), ("lost", .bytes), ("label_era", .ints), ("past", .ints),
                ])
        case .tokens:
            // A token that ended here becomes valid again, as after a restore. Another session's token stays and is
            // reported.
            TableRows(
                "tokens", [("token", .bytes), ("session", .ints)],
                conflict: """
                    ON CONFLICT (token) DO UPDATE SET session = excluded.session, until = NULL WHERE t.session IS NULL
                    """)
        case .endedTokens:
            TableRows(
                "tokens", [("token", .bytes), ("until", .ints)],
                conflict: """
                    ON CONFLICT (token) DO UPDATE SET until = greatest(t.until, excluded.until) WHERE t.session IS NULL
                    """)
        case .credentials:
            TableRows(
                "credentials",
                [
                    ("session", .ints), ("number", .ints), ("token", .bytes), ("kind", .texts), ("made", .ints),
                    ("seen", .ints), ("revoked_until", .ints), ("proof", .bytes), ("principal", .bytes),
                ])
        case .stores:
            TableRows(
                "stores",
                [
                    ("session", .ints), ("feature", .texts), ("number", .ints), ("version", .ints), ("made", .ints),
                    ("replaced", .ints), ("schema", .ints), ("view_intent", .bytes), ("state", .bytes),
                    ("view", .bytes),
                ])
        case .labels:
            TableRows(
                "labels",
                [
                    ("era", .ints), ("session", .ints), ("number", .ints), ("place", .ints), ("feature", .texts),
                    ("version", .ints), ("intent", .bytes), ("expiry", .ints), ("written", .bools), ("json", .bytes),
                ])
        case .receipts:
            TableRows(
                "receipts",
                [
                    ("era", .ints), ("session", .ints), ("hash", .ints), ("scope", .bytes), ("name", .bytes),
                    ("number", .ints), ("made", .ints), ("intent", .bytes), ("version", .ints), ("status", .ints),
                    ("body_hash", .bytes), ("body", .bytes),
                ])
        case .reminders:
            TableRows(
                "reminders",
                [
                    ("session", .ints), ("feature", .texts), ("name", .bytes), ("due", .ints), ("number", .ints),
                    ("action", .bytes), ("not_before", .ints),
                ])
        case .recordings:
            TableRows(
                "recordings",
                [("session", .ints), ("number", .ints), ("feature", .texts), ("time", .ints), ("body", .bytes)])
        case .setAside:
            TableRows(
                "set_aside",
                [
                    ("session", .ints), ("feature", .texts), ("time", .ints), ("reason", .bytes), ("schema", .ints),
                    ("state", .bytes),
                ])
        }
    }
}
