import MVI
import PostgreSQL
import SessionJournal

/// A kind of row of a session: its table, and how a value becomes a row and a row a value.
struct RowKind<Value: Sendable>: Sendable {
    let table: RowTable
    /// Returns the cells of the table's columns.
    let cells: @Sendable (Value) -> [ParameterRows.Cell]
    /// Reads the table's columns, the first of which has this index.
    let read: @Sendable (PostgresRow, _ first: Int) throws -> Value

    /// Inserts rows of a session.
    func insert(_ values: [Value], of session: SessionKey, _ sql: Statements) -> PostgresStatement? {
        var rows = TableRows(table)
        for value in values { rows.append([.int8(session.number)] + cells(value)) }
        return rows.take(into: sql.schema)
    }
}

/// The kinds of rows of a session.
enum Rows {
    static let labels = RowKind<StoredLabel>(
        table: RowTable(
            "labels",
            "int8 number, int8 place, text feature, int8 version, bytea intent, int8 expiry, bool written, bytea json",
            order: "r.number, r.place", hasEras: true, pages: ("number", "\(Int64.max)"))
    ) { label in
        let label = label.packed
        return [
            .bits(label.id.number), .int8(Int64(label.id.index)), .feature(label.feature), .bits(label.version),
            .utf8(label.intent), .time(label.expiry), .bool(label.isWritten), .bytea(label.json),
        ]
    } read: { row, first in
        try StoredLabel(
            id: LabelID(number: try row.bits(first), index: Int(try row.int8(first + 1))),
            feature: try row.feature(first + 2), version: try row.bits(first + 3),
            intent: try row.optionalText(first + 4), json: try row.bytes(first + 7), expiry: try row.time(first + 5),
            isWritten: try row.bool(first + 6)
        ).unpacked
    }
}

extension Rows {
    static let receipts = RowKind<StoredReceipt>(
        table: RowTable(
            "receipts",
            """
            int8 hash, bytea scope, bytea name, int8 number, int8 made, bytea intent, int8 version, int8 status, \
            bytea body_hash, bytea body
            """, order: "r.number", hasEras: true, pages: ("hash", "\(Int64.max)"))
    ) { receipt in
        let key = ReceiptColumns(receipt.key)
        var (version, status, body): (UInt64?, Int64?, [UInt8]?)
        switch receipt.outcome {
        case .ran(let ran): version = ran
        case .refused(let code, let text): (status, body) = (Int64(code), text)
        }
        return [
            .int8(key.hash), .bytea(key.scope), .bytea(key.name), .bits(receipt.number), .time(receipt.made),
            .utf8(receipt.intent), .bits(version), .int8(status), .bytea(receipt.bodyHash), .bytea(body),
        ]
    } read: { row, first in
        let key = ReceiptColumns(scope: try row.bytes(first + 1), name: try row.bytes(first + 2))
        let outcome: StoredReceipt.Outcome =
            row.isNull(first + 6)
            ? .refused(status: Int(try row.int8(first + 7)), body: try row.bytes(first + 9))
            : .ran(version: try row.bits(first + 6))
        return StoredReceipt(
            key: try key.key(), number: try row.bits(first + 3), bodyHash: try row.bytes(first + 8),
            intent: try row.text(first + 5), outcome: outcome, made: try row.time(first + 4))
    }
}

extension Rows {
    static let reminders = RowKind<StoredReminder>(
        table: RowTable(
            "reminders", "text feature, bytea name, int8 due, int8 number, bytea action, int8 not_before",
            order: "r.due, r.feature, r.name")
    ) { reminder in
        [
            .feature(reminder.feature), .utf8(reminder.id), .time(reminder.due), .bits(reminder.number),
            .bytea(reminder.action), .time(reminder.notBefore),
        ]
    } read: { row, first in
        StoredReminder(
            feature: try row.feature(first), id: try row.text(first + 1), due: try row.time(first + 2),
            number: try row.bits(first + 3), action: try row.bytes(first + 4), notBefore: try row.time(first + 5))
    }
}

extension Rows {
    static let recordings = RowKind<RecordedTurn>(
        table: RowTable("recordings", "int8 number, text feature, int8 time, bytea body", order: "r.number")
    ) { turn in
        [.bits(turn.number), .feature(turn.feature), .time(turn.time), .bytea(turn.recording)]
    } read: { row, first in
        RecordedTurn(
            number: try row.bits(first), feature: try row.feature(first + 1), time: try row.time(first + 2),
            recording: try row.bytes(first + 3))
    }
}

extension Rows {
    static let setAside = RowKind<SetAsideState>(
        table: RowTable(
            "set_aside", "text feature, int8 time, bytea reason, int8 schema, bytea state", order: "r.id")
    ) { state in
        [
            .feature(state.feature), .time(state.time), .utf8(state.reason), .int8(Int64(state.schemaVersion)),
            .bytea(state.state),
        ]
    } read: { row, first in
        SetAsideState(
            feature: try row.feature(first), schemaVersion: Int(try row.int8(first + 3)),
            state: try row.bytes(first + 4), reason: try row.text(first + 2), time: try row.time(first + 1))
    }
}

extension Rows {
    static let visits = RowKind<Visit>(
        table: RowTable(
            "visits", "bytea visitor, int8 seen, bytea issuer, bytea subject, bool forgotten",
            // An id is in ASCII.
            pages: ("visitor", "'\\xff'::bytea"),
            conflict: """
                ON CONFLICT (session, visitor) DO UPDATE SET seen = greatest(t.seen, excluded.seen),
                    issuer = CASE WHEN excluded.subject IS NULL THEN t.issuer ELSE excluded.issuer END,
                    subject = coalesce(excluded.subject, t.subject)
                """)
    ) { visit in
        [
            .utf8(visit.session), .time(visit.lastUse), .utf8(visit.subject?.issuer), .utf8(visit.subject?.id),
            .bool(visit.isForgotten),
        ]
    } read: { row, first in
        Visit(
            session: try row.text(first), subject: try row.subject(first + 2), lastUse: try row.time(first + 1),
            isForgotten: try row.bool(first + 4))
    }
}

extension Rows {
    static let senders = RowKind<StoredSender>(
        table: RowTable(
            "heard", "bytea sender, int8 number, int8 time", pages: ("sender", "decode(repeat('ff', 16), 'hex')"),
            conflict: """
                ON CONFLICT (session, sender) DO UPDATE SET number = excluded.number,
                    time = greatest(t.time, excluded.time)
                """)
    ) { sender in
        [.bytea(sender.last.sender), .bits(sender.last.number), .time(sender.time)]
    } read: { row, first in
        StoredSender(
            last: HeardMessage(sender: try row.bytes(first), number: try row.bits(first + 1)),
            time: try row.time(first + 2))
    }
}

extension Rows {
    static let credentials = RowKind<StoredCredential>(
        table: RowTable(
            "credentials",
            """
            int8 number, bytea token, text kind, int8 made, int8 seen, int8 revoked_until, bytea proof, bytea principal, \
            text client
            """, order: "r.number")
    ) { credential in
        [
            .int8(Int64(credential.number)), .bytea(credential.token.bytes), .text(credential.kind.rawValue),
            .time(credential.made), .time(credential.lastSeen), .int8(credential.revokedUntil?.nanoseconds),
            // Nodes of older builds expect one in the rows of revoked credentials.
            .bytea(credential.revokedUntil == nil ? nil : []), .bytea(credential.principal),
            .text(credential.settings?.text),
        ]
    } read: { row, first in
        guard let kind = SessionCredential(rawValue: try row.text(first + 2)) else {
            throw StoreError.unexpected("row \(try row.int8(first))", "a credential")
        }
        return StoredCredential(
            token: try row.token(first + 1), kind: kind, number: Int(try row.int8(first)),
            principal: try row.bytes(first + 7), made: try row.time(first + 3),
            lastSeen: max(try row.time(first + 3), try row.time(first + 4)),
            revokedUntil: row.isNull(first + 5) ? nil : try row.time(first + 5), settings: try row.settings(first + 8))
    }
}

extension Rows {
    static let stores = RowKind<StoredStore>(
        table: RowTable(
            "stores",
            """
            text feature, int8 number, int8 version, int8 made, int8 replaced, int8 seen, int8 schema, bytea state, \
            bytea view, bytea view_intent
            """, order: "r.made, r.feature")
    ) { store in
        let summary = store.summary
        return [
            .feature(summary.feature), .bits(summary.number), .bits(summary.version), .bits(summary.made),
            .bits(summary.replaced), .time(summary.lastSeen), .int8(Int64(store.schemaVersion)), .bytea(store.state),
            .bytea(store.view), .utf8(store.viewIntent),
        ]
    } read: { row, first in
        StoredStore(
            summary: try summaries.read(row, first), schemaVersion: Int(try row.int8(first + 6)),
            state: try row.bytes(first + 7), view: try row.bytes(first + 8), viewIntent: try row.optionalText(first + 9)
        )
    }

    /// Stores without their states. They are never inserted.
    static let summaries = RowKind<StoreSummary>(
        table: RowTable(
            "stores", "text feature, int8 number, int8 version, int8 made, int8 replaced, int8 seen",
            order: "r.made, r.feature")
    ) { _ in
        []
    } read: { row, first in
        StoreSummary(
            feature: try row.feature(first), number: try row.bits(first + 1), version: try row.bits(first + 2),
            made: try row.bits(first + 3), replaced: try row.bits(first + 4), lastSeen: try row.time(first + 5))
    }

    /// All tables whose rows belong to a session and are deleted with it. Tokens are remembered instead.
    static let tables = [
        stores.table, credentials.table, reminders.table, recordings.table, setAside.table, streams, labels.table,
        receipts.table, visits.table,
        senders.table,
    ]
    private static let streams = RowTable("streams", "int8 node, int4 count")
}
