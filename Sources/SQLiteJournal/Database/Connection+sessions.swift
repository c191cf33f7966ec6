import MVI
import SQLite
import SessionJournal

/// A session's own row, and those of its stores without their states.
struct SessionRows {
    let key: SessionKey
    /// `lastSeen` is the newest time in the rows.
    var record: SessionRecord
    let lostLabels: LostLabels
    /// The highest head in the rows.
    var head: SessionHead
    /// The id of the store whose row has the head; nil if the session's row has it.
    var headRow: Int64?
    var stores: [(id: Int64, summary: StoreSummary)] = []
}

/// Reads of sessions, inside a transaction.
extension Connection {
    static let ofSession = "id >= ?1 << 16 AND id < (?1 + 1) << 16"
    /// In `recordings`.
    static let recordingsOfSession = "id >= ?1 << 20 AND id < (?1 + 1) << 20"
    /// The columns that `Row.sessionRecord` reads, except the time of the last use.
    static let recordColumns = "key, token, id, epoch, credential, created, issuer, subject, shared, space"
    static let receiptColumns = "body_hash, intent, version, status, body, made, number"

    mutating func load(_ token: TokenHash, now: Duration) throws -> SessionLoad {
        do {
            if let rows = try rows("token", .blob(token.bytes)) { return .found(try stored(rows)) }
            let key = try session(ofCredential: token)
            if let key, let rows = try rows(of: key) { return .found(try stored(rows)) }
        } catch {
            // Other errors may be transient. If not even the key can be read, the file is damaged.
            guard Self.isOfValue(error) else { throw error }
            let key = try first("SELECT key FROM sessions WHERE token = ?", [.blob(token.bytes)]) { try $0.integer(0) }
            guard let key = try key.map(SessionKey.init) ?? session(ofCredential: token) else { throw error }
            return .damaged(key, "\(error)")
        }
        let until = try first("SELECT until FROM tombstones WHERE token = ?", [.blob(token.bytes)]) { try $0.time(0) }
        return until.map { now < $0 } == true ? .ended : .unknown
    }

    /// True if the error comes from an invalid value in one row.
    static func isOfValue(_ error: any Error) -> Bool {
        error is StoreError || (error as? SQLiteError)?.code == .mismatch
    }

    mutating func load(_ session: SessionKey, since head: SessionHead) throws -> StoredSession? {
        guard let rows = try rows(of: session) else { return nil }
        var news = try stored(rows, after: Int64(clamping: head.number))
        news.recentHeads = try earlierHeads(of: rows).heads(before: rows.head)
        news.changed = try stores(rows) { $0.number > head.number }
        return news
    }

    mutating func export(_ id: String, turnsAfter number: UInt64? = nil) throws -> SessionExport? {
        guard let rows = try rows("id", .text(id)) else { return nil }
        return try export(rows, turnsAfter: number)
    }

    /// Returns everything stored about a session, including its earlier heads.
    mutating func contents(of session: SessionKey) throws -> SessionExport? {
        guard let rows = try rows(of: session) else { return nil }
        var contents = try export(rows)
        contents.session.recentHeads = try earlierHeads(of: rows).heads(before: rows.head)
        contents.visits = try visits(of: session)
        contents.senders = try senders(of: session)
        return contents
    }

    private mutating func export(_ rows: SessionRows, turnsAfter number: UInt64? = nil) throws -> SessionExport {
        let key: [SQLiteValue] = [.integer(rows.key.number)]
        let turns = try query(
            """
            SELECT number, feature, time, body FROM recordings WHERE \(Self.recordingsOfSession) AND number > ?2
            ORDER BY number
            """, key + [.integer(number.map { Int64(clamping: $0) } ?? .min)]
        ) { row in
            RecordedTurn(
                number: try row.number(0), feature: try row.feature(1), time: try row.time(2),
                recording: RecordingRows.recording(try row.blob(3)))
        }
        let setAside = try query(
            "SELECT feature, schema, state, reason, time FROM set_aside WHERE session = ? ORDER BY number", key
        ) { row in
            SetAsideState(
                feature: try row.feature(0), schemaVersion: try row.int(1), state: try row.blob(2),
                reason: try row.text(3), time: try row.time(4))
        }
        return SessionExport(
            session: try stored(rows), stores: try stores(rows) { _ in true }, turns: turns, setAside: setAside)
    }

    mutating func stores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash
    ) throws -> LoadedStores {
        guard let rows = try rows(of: session), rows.record.tokenHash == token else { return LoadedStores(nil, []) }
        let mark = SessionMark(token: token, head: rows.head, accessChanges: 0, epoch: rows.record.epoch)
        return LoadedStores(mark, try stores(rows) { features.contains($0.feature) })
    }

    mutating func rows(of session: SessionKey) throws -> SessionRows? {
        try rows("key", .integer(session.number))
    }

    private mutating func rows(_ column: String, _ value: SQLiteValue) throws -> SessionRows? {
        let found = try first(
            "SELECT \(Self.recordColumns), last_seen, head, nonce, lost, client FROM sessions WHERE \(column) = ?",
            [value]
        ) { row in
            var record = try row.sessionRecord(lastSeen: 10)
            record.settings = try row.settings(14)
            return SessionRows(
                key: SessionKey(try row.integer(0)), record: record,
                lostLabels: try LostLabels(text: try row.text(13)),
                head: SessionHead(number: try row.bits(11), nonce: try row.bits(12)))
        }
        guard var rows = found else { return nil }
        // -1, as a signed number, is below all heads.
        var highest = Int64(bitPattern: rows.head.number)
        rows.stores = try query(
            """
            SELECT id, feature, number, version, made, replaced, time, head, nonce FROM stores
            WHERE \(Self.ofSession) ORDER BY id
            """, [.integer(rows.key.number)]
        ) { row in
            let id = try row.integer(0)
            rows.record.lastSeen = max(rows.record.lastSeen, try row.time(6))
            if try row.integer(7) > highest {
                highest = try row.integer(7)
                rows.head = SessionHead(number: try row.number(7), nonce: try row.bits(8))
                rows.headRow = id
            }
            let summary = StoreSummary(
                feature: try row.feature(1), number: try row.number(2), version: try row.bits(3),
                made: try row.number(4),
                replaced: try row.number(5), lastSeen: try row.time(6))
            return (id, summary)
        }
        guard highest >= 0 else { throw StoreError.unexpected("\(highest)", "the number of a turn") }
        return rows
    }

    mutating func earlierHeads(of rows: SessionRows) throws -> EarlierHeads {
        let (table, key, id) = rows.headRow.map { ("stores", "id", $0) } ?? ("sessions", "key", rows.key.number)
        return try first("SELECT recent FROM \(table) WHERE \(key) = ?", [.integer(id)]) { row in
            try EarlierHeads(try row.isNull(0) ? [] : row.blob(0))
        } ?? EarlierHeads()
    }

    private mutating func stores(
        _ rows: SessionRows, where isWanted: (StoreSummary) -> Bool
    ) throws -> [StoredStore] {
        try rows.stores.filter { isWanted($0.summary) }.compactMap { id, summary in
            try first("SELECT schema, state, view, view_intent FROM stores WHERE id = ?", [.integer(id)]) { row in
                StoredStore(
                    summary: summary, schemaVersion: try row.int(0), state: try row.blob(1), view: try row.blob(2),
                    viewIntent: try row.optionalText(3))
            }
        }
    }

    /// Loads the session with the labels and receipts of the turns after a number.
    private mutating func stored(_ rows: SessionRows, after number: Int64 = -1) throws -> StoredSession {
        let newer: [SQLiteValue] = [.integer(rows.key.number), .integer(number)]
        let labels = try query(
            """
            SELECT number, place, feature, version, intent, json, expiry, written FROM labels
            WHERE session = ? AND number > ? ORDER BY number, place
            """, newer
        ) { row in
            try StoredLabel(
                id: LabelID(number: try row.number(0), index: try row.int(1)), feature: try row.feature(2),
                version: try row.bits(3), intent: try row.optionalText(4), json: try row.blob(5),
                expiry: try row.time(6), isWritten: try row.int(7) != 0
            ).unpacked
        }
        let receipts = try query(
            """
            SELECT \(Self.receiptColumns), scope, name FROM receipts
            WHERE session = ? AND number > ? ORDER BY number
            """, newer
        ) { row in try row.receipt(try row.receiptKey(7)) }
        return StoredSession(
            key: rows.key, record: rows.record, recentHeads: [rows.head], stores: rows.stores.map(\.summary),
            labels: labels, lostLabels: rows.lostLabels, receipts: receipts, credentials: try credentials(of: rows.key),
            reminders: try reminders(of: rows.key))
    }
}

extension Row {
    /// Reads a record from `Connection.recordColumns` and a column with the time of the last use.
    func sessionRecord(lastSeen: Int) throws -> SessionRecord {
        let token = try blob(1)
        guard token.count == 32, let credential = SessionCredential(rawValue: try text(4)),
            try isNull(6) == isNull(7), try isNull(7) || isNull(9)
        else { throw StoreError(.unavailable, "The journal's row of session \(try integer(0)) is damaged.") }
        return SessionRecord(
            id: try id(2), tokenHash: TokenHash(token), epoch: try text(3), credential: credential,
            created: try time(5), lastSeen: try time(lastSeen), subject: try subject(6), isShared: try integer(8) != 0,
            space: try space(9))
    }

    /// Reads the name of a space; nil if it is NULL.
    func space(_ column: Int) throws -> SpaceName? {
        guard let text = try optionalText(column) else { return nil }
        guard let space = SpaceName(text) else { throw StoreError.unexpected(text, "a space's name") }
        return space
    }

    /// Reads a subject with the issuer in `column` and the id in the next one; nil if they are NULL.
    func subject(_ column: Int) throws -> Subject? {
        try isNull(column + 1) ? nil : Subject(issuer: text(column), id: text(column + 1))
    }

    /// Reads a receipt's key with scope and name beginning at `column`.
    fileprivate func receiptKey(_ column: Int) throws -> ReceiptKey {
        let scope = try text(column).utf8
        // By bytes: the first letter and what follows may form one character.
        let rest = String(Substring(scope.dropFirst()))
        if scope.first == UInt8(ascii: "s") { return .sequence(try bits(column + 1), epoch: rest) }
        return .key(try text(column + 1), feature: try FeatureID(stored: rest))
    }

    /// Reads a receipt from `Connection.receiptColumns`.
    func receipt(_ key: ReceiptKey) throws -> StoredReceipt {
        let outcome: StoredReceipt.Outcome =
            try isNull(2) ? .refused(status: int(3), body: blob(4)) : .ran(version: bits(2))
        return StoredReceipt(
            key: key, number: try number(6), bodyHash: try blob(0), intent: try text(1), outcome: outcome,
            made: try time(5))
    }
}
