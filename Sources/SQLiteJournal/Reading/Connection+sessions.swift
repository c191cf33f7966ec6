import MVI
import SQLite
import SessionJournal

/// A session's own row, and those of its stores without their states.
struct SessionRows {
    let key: SessionKey
    /// `lastSeen` is the newest of what the rows have.
    var record: SessionRecord
    let lostLabels: LostLabels
    /// The highest of the heads on the rows.
    var head: SessionHead
    /// The store on whose row it lies; nil if it lies on the session's.
    var headRow: Int64?
    var stores: [(id: Int64, summary: StoreSummary)] = []
}

/// Reads of sessions; each is to be made inside one transaction.
extension Connection {
    static let ofSession = "id >= ?1 << 16 AND id < (?1 + 1) << 16"
    static let receiptColumns = "body_hash, intent, version, status, body, made, number"

    /// What a token names.
    mutating func load(_ token: TokenHash, now: Duration) throws -> SessionLoad {
        if let rows = try rows("token", .blob(token.bytes)) { return .found(try session(rows)) }
        let until = try first("SELECT until FROM tombstones WHERE token = ?", [.blob(token.bytes)]) { row in
            try row.time(0)
        }
        return until.map { now < $0 } == true ? .ended : .unknown
    }

    /// What was appended to a session's log after a head; nil if the session is gone.
    mutating func news(of session: SessionKey, since head: SessionHead) throws -> SessionNews? {
        guard let rows = try rows(of: session) else { return nil }
        return SessionNews(
            recentHeads: try earlierHeads(of: rows).heads(before: rows.head), epoch: rows.record.epoch,
            stores: rows.stores.map(\.summary),
            changed: try stores(
                rows.stores.lazy.filter { $0.summary.number > head.number }.map(\.summary.feature), rows),
            labels: try labels(of: session, after: Int64(clamping: head.number)), lostLabels: rows.lostLabels,
            receipts: try receipts(of: session, after: Int64(clamping: head.number)))
    }

    /// Everything that is kept of the session with an id; nil if there is none.
    mutating func export(_ id: String) throws -> SessionExport? {
        guard let rows = try rows("id", .text(id)) else { return nil }
        let key: [SQLiteValue] = [.integer(rows.key.number)]
        let turns = try query(
            "SELECT number, feature, time, body FROM recordings WHERE session = ? ORDER BY number", key
        ) { row in
            RecordedTurn(
                number: try row.bits(0), feature: try row.feature(1), time: try row.time(2),
                recording: try row.blob(3))
        }
        let setAside = try query(
            "SELECT feature, schema, state, reason, time FROM set_aside WHERE session = ? ORDER BY number", key
        ) { row in
            SetAsideState(
                feature: try row.feature(0), schemaVersion: try row.int(1), state: try row.blob(2),
                reason: try row.text(3), time: try row.time(4))
        }
        return SessionExport(
            session: try session(rows), stores: try stores(rows.stores.map(\.summary.feature), rows), turns: turns,
            setAside: setAside)
    }

    /// The stores of those that a session has.
    mutating func stores(_ features: [FeatureID], of session: SessionKey) throws -> [StoredStore] {
        guard let rows = try rows(of: session) else { return [] }
        return try stores(features, rows)
    }

    // MARK: Rows

    mutating func rows(of session: SessionKey) throws -> SessionRows? {
        try rows("key", .integer(session.number))
    }

    private mutating func rows(_ column: String, _ value: SQLiteValue) throws -> SessionRows? {
        let found = try first(
            """
            SELECT key, token, id, epoch, credential, created, last_seen, head, nonce, lost FROM sessions
            WHERE \(column) = ?
            """, [value]
        ) { row in try row.session() }
        guard var rows = found else { return nil }
        // What is not a head is below all: -1 as a signed number.
        var highest = Int64(bitPattern: rows.head.number)
        rows.stores = try query(
            """
            SELECT id, feature, number, version, made, replaced, time, head, nonce FROM stores
            WHERE \(Self.ofSession) ORDER BY id
            """, [.integer(rows.key.number)]
        ) { row in
            rows.record.lastSeen = max(rows.record.lastSeen, try row.time(6))
            if try row.integer(7) > highest {
                highest = try row.integer(7)
                rows.head = SessionHead(number: try row.bits(7), nonce: try row.bits(8))
                rows.headRow = try row.integer(0)
            }
            return (
                try row.integer(0),
                StoreSummary(
                    feature: try row.feature(1), number: try row.bits(2), version: try row.bits(3),
                    made: try row.bits(4), replaced: try row.bits(5))
            )
        }
        return rows
    }

    mutating func earlierHeads(of rows: SessionRows) throws -> EarlierHeads {
        let (table, key, id) = rows.headRow.map { ("stores", "id", $0) } ?? ("sessions", "key", rows.key.number)
        return try first("SELECT recent FROM \(table) WHERE \(key) = ?", [.integer(id)]) { row in
            try EarlierHeads(try row.isNull(0) ? [] : row.blob(0))
        } ?? EarlierHeads()
    }

    private mutating func session(_ rows: SessionRows) throws -> StoredSession {
        StoredSession(
            key: rows.key, record: rows.record, head: rows.head, stores: rows.stores.map(\.summary),
            labels: try labels(of: rows.key, after: -1), lostLabels: rows.lostLabels,
            receipts: try receipts(of: rows.key, after: -1))
    }

    private mutating func stores(_ features: [FeatureID], _ rows: SessionRows) throws -> [StoredStore] {
        let asked = rows.stores.filter { features.contains($0.summary.feature) }
        return try asked.compactMap { id, summary in
            try first("SELECT schema, state, view, view_intent FROM stores WHERE id = ?", [.integer(id)]) { row in
                StoredStore(
                    summary: summary, schemaVersion: try row.int(0), state: try row.blob(1), view: try row.blob(2),
                    viewIntent: try row.optionalText(3))
            }
        }
    }

    private mutating func labels(of session: SessionKey, after number: Int64) throws -> [StoredLabel] {
        try query(
            """
            SELECT number, place, feature, version, intent, json, expiry, written FROM labels
            WHERE session = ? AND number > ? ORDER BY number, place
            """, [.integer(session.number), .integer(number)]
        ) { row in
            StoredLabel(
                id: LabelID(number: try row.bits(0), index: try row.int(1)), feature: try row.feature(2),
                version: try row.bits(3), intent: try row.optionalText(4), json: try row.blob(5),
                expiry: try row.time(6), isWritten: try row.int(7) != 0)
        }
    }

    private mutating func receipts(of session: SessionKey, after number: Int64) throws -> [StoredReceipt] {
        try query(
            """
            SELECT \(Self.receiptColumns), scope, name FROM receipts
            WHERE session = ? AND number > ? ORDER BY number
            """, [.integer(session.number), .integer(number)]
        ) { row in try row.receipt(try row.receiptKey(7)) }
    }
}

extension Row {
    fileprivate func session() throws -> SessionRows {
        let token = try blob(1)
        guard token.count == 32, let credential = SessionCredential(rawValue: try text(4)) else {
            throw StoreError(.unavailable, "The journal's row of session \(try integer(0)) is damaged.")
        }
        return SessionRows(
            key: SessionKey(try integer(0)),
            record: SessionRecord(
                id: try text(2), tokenHash: TokenHash(token), epoch: try text(3), credential: credential,
                created: try time(5), lastSeen: try time(6)),
            lostLabels: try LostLabels(text: try text(9)),
            head: SessionHead(number: try bits(7), nonce: try bits(8)))
    }

    /// The key of a receipt whose columns scope and name begin at `column`.
    fileprivate func receiptKey(_ column: Int) throws -> ReceiptKey {
        let scope = try text(column).utf8
        // By bytes: the first letter and what follows may be one character.
        let rest = String(Substring(scope.dropFirst()))
        if scope.first == UInt8(ascii: "s") { return .sequence(try bits(column + 1), epoch: rest) }
        guard let feature = FeatureID(rest) else { throw StoreError.unexpected(rest, "a feature's name") }
        return .key(try text(column + 1), feature: feature)
    }

    /// A receipt of `Connection.receiptColumns`.
    func receipt(_ key: ReceiptKey) throws -> StoredReceipt {
        let outcome: StoredReceipt.Outcome =
            if let version = try optionalInteger(2) {
                .ran(version: UInt64(bitPattern: version))
            } else {
                .refused(status: try int(3), body: try blob(4))
            }
        return StoredReceipt(
            key: key, number: try bits(6), bodyHash: try blob(0), intent: try text(1), outcome: outcome,
            made: try time(5))
    }
}
