import SQLite
import SessionJournal

/// Reads of sessions; each is to be made inside one transaction.
extension Connection {
    /// What a token names.
    mutating func load(_ token: TokenHash, now: Duration) throws -> SessionLoad {
        let head = try first("\(Self.heads) WHERE token = ?", [.blob(token.bytes)]) { row in try row.head() }
        if let head { return .found(try session(head)) }
        let until = try first("SELECT until FROM tombstones WHERE token = ?", [.blob(token.bytes)]) { row in
            try row.integer(0)
        }
        return until.map { now.nanoseconds < $0 } == true ? .ended : .unknown
    }

    /// Everything that is kept of the session with an id; nil if there is none.
    mutating func export(_ id: String) throws -> SessionExport? {
        let head = try first("\(Self.heads) WHERE id = ?", [.text(id)]) { row in try row.head() }
        guard let head else { return nil }
        let key: [SQLiteValue] = [.integer(head.key.number)]
        let stores = try query("\(Self.stores) WHERE \(Self.ofSession)", key) { row in try row.store() }
        let turns = try query(
            "SELECT sequence, feature, time, body FROM recordings WHERE session = ? ORDER BY sequence", key
        ) { row in
            RecordedTurn(
                sequence: try row.bits(0), feature: try row.feature(1), time: try row.time(2),
                recording: try row.blob(3))
        }
        let setAside = try query(
            "SELECT feature, schema, state, reason, time FROM set_aside WHERE session = ? ORDER BY sequence", key
        ) { row in
            SetAsideState(
                feature: try row.feature(0), schemaVersion: try row.int(1), state: try row.blob(2),
                reason: try row.text(3), time: try row.time(4))
        }
        return SessionExport(session: try session(head), stores: stores, turns: turns, setAside: setAside)
    }

    /// The stores of those that a session has.
    mutating func stores(_ features: [FeatureID], of session: SessionKey) throws -> [StoredStore] {
        guard try first("SELECT 1 FROM sessions WHERE key = ?", [.integer(session.number)], { _ in true }) == true
        else { return [] }
        return try features.compactMap { feature in
            try first(
                "\(Self.stores) WHERE \(Self.ofSession) AND feature = ?2",
                [.integer(session.number), .text(feature.text)]
            ) { row in try row.store() }
        }
    }

    private mutating func session(_ head: SessionHead) throws -> StoredSession {
        let key: [SQLiteValue] = [.integer(head.key.number)]
        var record = head.record
        var sequence = head.sequenceFloor
        let stores = try query("\(Self.summaries) WHERE \(Self.ofSession)", key) { row in
            record.lastSeen = max(record.lastSeen, try row.time(7))
            sequence = max(sequence, try row.bits(6))
            return try row.summary()
        }
        let labels = try query(
            """
            SELECT sequence, place, feature, version, intent, expiry, written, json FROM labels
            WHERE session = ? ORDER BY sequence, place
            """, key
        ) { row in
            StoredLabel(
                id: LabelID(sequence: try row.bits(0), index: try row.int(1)), feature: try row.feature(2),
                label: LabelAppend(
                    version: try row.bits(3), intent: try row.optionalText(4), json: try row.blob(7),
                    expiry: try row.time(5)),
                isWritten: try row.int(6) != 0)
        }
        let receipts = try query(
            """
            SELECT body_hash, intent, version, status, body, made, scope, name FROM receipts
            WHERE session = ? ORDER BY place
            """, key
        ) { row in try row.receipt(try row.receiptKey(6), from: 0) }
        let numbers = try query("SELECT epoch, number FROM epochs WHERE session = ?", key) { row in
            (try row.text(0), try row.bits(1))
        }
        return StoredSession(
            key: head.key, record: record, sequence: sequence, marks: head.marks, stores: stores, labels: labels,
            receipts: receipts, lastNumbers: Dictionary(numbers, uniquingKeysWith: { _, last in last }))
    }

    private static let heads = """
        SELECT key, token, id, epoch, credential, created, last_seen, sequence_floor, version_floor, dropped, flags
        FROM sessions
        """
    private static let ofSession = "id >= ?1 << 16 AND id < (?1 + 1) << 16"
    private static let summaries =
        "SELECT feature, version, nonce, dropped, flags, replaced, sequence, time FROM stores"
    private static let stores =
        "SELECT feature, version, nonce, dropped, flags, replaced, schema, state, view, view_intent FROM stores"
}

/// A session's own row.
private struct SessionHead {
    let key: SessionKey
    let record: SessionRecord
    let sequenceFloor: UInt64
    let marks: SessionMarks
}

extension Row {
    fileprivate func head() throws -> SessionHead {
        let token = try blob(1)
        guard token.count == 32, let credential = SessionCredential(rawValue: try text(4)) else {
            throw JournalFailure(.unavailable, "The journal's row of session \(try integer(0)) is damaged.")
        }
        let flags = MarkFlags(try integer(10))
        var marks = SessionMarks()
        marks.versionFloor = try bits(8)
        marks.droppedSequence = try bits(9)
        marks.hasLabels = flags.hasLabels
        marks.hasUnheard = flags.hasUnheard
        return SessionHead(
            key: SessionKey(try integer(0)),
            record: SessionRecord(
                id: try text(2), tokenHash: TokenHash(token), epoch: try text(3), credential: credential,
                created: try time(5), lastSeen: try time(6)),
            sequenceFloor: try bits(7), marks: marks)
    }

    /// The first six columns.
    fileprivate func summary() throws -> StoreSummary {
        let flags = MarkFlags(try integer(4))
        var marks = StoreMarks()
        marks.droppedSequence = try bits(3)
        marks.hasLabels = flags.hasLabels
        marks.hasUnheard = flags.hasUnheard
        return StoreSummary(
            feature: try feature(0), token: StoreToken(version: try bits(1), nonce: try bits(2)), marks: marks,
            replacedSequence: try bits(5))
    }

    fileprivate func store() throws -> StoredStore {
        StoredStore(
            summary: try summary(), schemaVersion: try int(6), state: try blob(7), view: try blob(8),
            viewIntent: try optionalText(9))
    }

    /// The key of a receipt whose columns scope and name begin at `column`.
    fileprivate func receiptKey(_ column: Int) throws -> ReceiptKey {
        let scope = try text(column)
        let rest = String(scope.dropFirst())
        if scope.first == "s" { return .sequence(try bits(column + 1), epoch: rest) }
        guard let feature = FeatureID(rest) else {
            throw JournalFailure(.unavailable, "The journal holds '\(rest)' where a feature's name was expected.")
        }
        return .key(try text(column + 1), feature: feature)
    }
}
