import MVI
import PostgreSQL
import SessionJournal

/// Statements that write appends of different sessions together.
///
/// Heads that equal the expected ones are replaced in the order of the sessions' keys, so that groups of several
/// writers cannot deadlock. All other rows are written only for sessions whose head is the new one. So the commit needs
/// no previous response.
struct AppendGroup {
    private let batches: [JournalBatch]
    private let checksStores: Bool

    private var heads = ParameterRows(
        .int8, .int8, .int8, .bytea, .bytea, .int8, .int8, .bool, .int8, .int8)
    private var callers = ParameterRows(.int8, .bytea, .int8, .int8)
    private var heard = ParameterRows(.int8, .bytea, .int8)
    private var checkedReceipts = ParameterRows(.int8, .bytea, .bytea)
    private var neededStores = ParameterRows(.text)
    private var setAside = ParameterRows(.text, .int8, .bytea)
    private var changed = ParameterRows(.text, .int8, .int8, .int8, .bytea, .bytea, .bytea)
    private var made = ParameterRows(.text, .int8, .int8, .int8, .bytea, .bytea, .bytea, .int8, .int8)
    private var disposed = ParameterRows(.text)
    private var labels = ParameterRows(Rows.labels.table)
    private var forgottenLabels = ParameterRows(.int8, .int8)
    private var forgottenReceipts = ParameterRows(.int8, .bytea, .bytea)
    private var receipts = ParameterRows(Rows.receipts.table)
    private var changedReminders = ParameterRows(.text, .bytea)
    private var reminders = ParameterRows(Rows.reminders.table)
    private var visits = ParameterRows(Rows.visits.table)
    private var senders = ParameterRows(Rows.senders.table)
    /// The owners of all batches if one of them has or changes an owner; otherwise empty.
    private var owners = ParameterRows(.int8, .int8, .int8, .bool, .int8, .int8, .int8, .bytea)
    /// The indexes of the look-ups among the statements' results.
    private var receiptRows: [Int32?] = []

    /// - Parameters:
    ///   - batches: At most one of each session, in the order of their keys.
    ///   - checksStores: True if the batches that change a missing store are refused. Otherwise they fail the group, which
    ///     costs the others less.
    init(_ batches: [JournalBatch], checksStores: Bool = false) {
        (self.batches, self.checksStores) = (batches, checksStores)
        let hasOwners = batches.contains { $0.expectedOwner != nil || $0.ownerChange != nil }
        for (row, batch) in batches.enumerated() {
            addHead(of: batch)
            if hasOwners { addOwner(of: batch) }
            for (place, caller) in (batch.rare?.expectedCallers ?? []).enumerated() {
                callers.append(
                    batch, .int8(Int64(place)), .bytea(caller.token.bytes), .int8(caller.session?.number),
                    .bits(caller.access))
            }
            for (place, message) in (batch.rare?.heard ?? []).enumerated() {
                heard.append(batch, .int8(Int64(place)), .bytea(message.sender), .bits(message.number))
            }
            for sender in batch.senders { senders.append(batch, Rows.senders.cells(sender)) }
            for change in batch.stores { add(change, of: batch) }
            for label in batch.labels { labels.append(batch, Rows.labels.cells(label)) }
            for label in batch.forgottenLabels {
                forgottenLabels.append(batch, .bits(label.number), .int8(Int64(label.index)))
            }
            addReceipts(of: batch, row)
            addReminders(of: batch)
            // In order, see `Statements.signIn`.
            for visit in (batch.rare?.visits ?? []).sorted(by: { $0.session < $1.session }) {
                visits.append(batch, Rows.visits.cells(visit))
            }
        }
    }

    // MARK: Rows

    private mutating func addHead(of batch: JournalBatch) {
        let added = batch.stores.count { $0.kind == .made }
        heads.append(
            batch, .bits(batch.expecting.number), .bits(batch.expecting.nonce), .time(batch.time), .utf8(batch.epoch),
            .utf8(batch.lostLabels?.text), .bits(batch.firstLabel?.number),
            .int8(batch.firstLabel.map { Int64($0.index) }), .bool(!batch.labels.isEmpty), .int8(Int64(added)),
            .bits(batch.expectedAccess))
    }

    private mutating func addOwner(of batch: JournalBatch) {
        var (next, working): (SessionOwner?, [FeatureID]?)
        if case .owned(let owner, let stores)? = batch.ownerChange { (next, working) = (owner, stores) }
        let expected = batch.expectedOwner
        owners.append(
            batch, .int8(expected?.node.number), .bits(expected?.fence.number), .bits(expected?.fence.nonce),
            .bool(batch.ownerChange != nil), .int8(next?.node.number), .bits(next?.fence.number),
            .bits(next?.fence.nonce), .bytea(working.map(WorkingStores.bytes)))
    }

    private mutating func add(_ change: StoreChange, of batch: JournalBatch) {
        let feature = ParameterRows.Cell.feature(change.feature)
        if change.kind == .disposed || change.setsAside != nil || checksStores && change.kind == .changed {
            neededStores.append(batch, feature)
        }
        if let reason = change.setsAside { setAside.append(batch, feature, .time(batch.time), .utf8(reason)) }
        switch change.kind {
        case .changed:
            changed.append(
                batch, feature, .bits(change.number), .bits(change.version), .int8(Int64(change.schemaVersion)),
                .utf8(change.viewIntent), .bytea(change.state), .bytea(change.view))
        case .made:
            made.append(
                batch, feature, .bits(change.number), .bits(change.version), .int8(Int64(change.schemaVersion)),
                .utf8(change.viewIntent), .bytea(change.state), .bytea(change.view), .bits(change.made),
                .bits(change.setsAside == nil ? 0 : change.made))
        case .disposed: disposed.append(batch, feature)
        }
    }

    private mutating func addReceipts(of batch: JournalBatch, _ row: Int) {
        for key in batch.forgottenReceipts {
            let columns = ReceiptColumns(key)
            forgottenReceipts.append(batch, .int8(columns.hash), .bytea(columns.scope), .bytea(columns.name))
        }
        for receipt in batch.receipts {
            let cells = Rows.receipts.cells(receipt)
            receipts.append(batch, cells)
            // A receipt that the same batch deletes is no duplicate.
            guard !batch.forgottenReceipts.contains(receipt.key) else { continue }
            checkedReceipts.append(batch, Array(cells[..<3]))
            receiptRows.append(Int32(row))
        }
    }

    /// Adds only the last change of each reminder.
    private mutating func addReminders(of batch: JournalBatch) {
        var seen: Set<[UInt8]> = []
        for change in batch.reminders.reversed() {
            let (feature, id) =
                switch change {
                case .set(let reminder): (reminder.feature, reminder.id)
                case .forgotten(let feature, let id): (feature, id)
                }
            // A feature's id contains no NUL.
            guard seen.insert(Array(feature.text.utf8) + [0] + Array(id.utf8)).inserted else { continue }
            changedReminders.append(batch, .feature(feature), .utf8(id))
            guard case .set(let reminder) = change else { continue }
            reminders.append(batch, Rows.reminders.cells(reminder))
        }
    }

    // MARK: Statements

    /// Locks the sessions' heads and looks up receipts: `found` reads the results.
    func lookUps(_ sql: Statements) -> [PostgresStatement] {
        [PostgresStatement(sql.lockHeads, [sessions])] + furtherLookUps(sql)
    }

    private func furtherLookUps(_ sql: Statements) -> [PostgresStatement] {
        receiptLookUp(sql)
            + [(callers, sql.findChangedCallers), (heard, sql.findHeard)].filter { !$0.0.isEmpty }
            .map { PostgresStatement($1, [$0.sessionValue] + $0.values) }
    }

    private var sessions: PostgresValue { .int8s(batches.map { $0.session.number }) }

    /// Looks up receipts that exist.
    private func receiptLookUp(_ sql: Statements) -> [PostgresStatement] {
        if checkedReceipts.isEmpty { return [] }
        return [
            PostgresStatement(
                sql.findReceipts, [.int4s(receiptRows), checkedReceipts.sessionValue] + checkedReceipts.values)
        ]
    }

    /// Replaces the heads that equal the expected ones, changes their stores, and looks up the others: `found` reads
    /// the results.
    func append(_ sql: Statements) -> [PostgresStatement] {
        let values =
            heads.headValues + [checkedReceipts, neededStores].flatMap { [$0.sessionValue] + $0.values } + owners.values
            + [setAside, changed].flatMap { [$0.sessionValue] + $0.values }
        let text =
            switch (callers.isEmpty, heard.isEmpty) {
            case (true, true): sql.appendText
            case (false, true): sql.appendOfCallersText
            case (true, false): sql.appendOfHeardText
            case (false, false): sql.appendOfCallersAndHeardText
            }
        let conditions = [callers, heard].filter { !$0.isEmpty }.flatMap { [$0.sessionValue] + $0.values }
        return [PostgresStatement(text, values + conditions)] + furtherLookUps(sql)
    }

    /// Writes all other rows for the sessions whose heads are the new ones.
    func writes(_ sql: Statements) -> [PostgresStatement] {
        [
            disposed.statement(sql.disposeStores), made.statement(sql.makeStores), labels.statement(sql.addLabels),
            forgottenLabels.statement(sql.forgetLabels), forgottenReceipts.statement(sql.forgetReceipts),
            receipts.statement(sql.addReceipts),
            changedReminders.statement(sql.forgetReminders), reminders.statement(sql.addReminders),
            visits.statement(sql.addVisits),
            senders.statement(sql.addSenders),
            changedReminders.isEmpty
                ? nil : PostgresStatement(sql.noteReminded, [changedReminders.sessionValue]),
        ].compactMap(\.self)
    }

    // MARK: Results

    /// The results of the look-ups.
    struct Found {
        /// The existing sessions of the look-up. `isCurrent` is false for an epoch from before a loss of commits.
        var heads: [Int64: (head: SessionHead, owner: SessionOwner?, access: UInt64, isCurrent: Bool)] = [:]
        /// The first existing receipt of a batch, by the batch's index.
        var duplicates: [Int: StoredReceipt] = [:]
        /// The places of expected callers whose access has changed.
        var changedCallers: [Int64: [Int]] = [:]
        /// The places of messages that were received before.
        var heard: [Int64: [Int]] = [:]

        /// Returns the result of an append that changed nothing; nil if it should have been stored.
        func refusal(of batch: JournalBatch, at place: Int) -> AppendResult? {
            guard let found = heads[batch.session.number] else { return .failed(.sessionGone) }
            if let known = duplicates[place] { return .duplicate(known) }
            let isExpected =
                found.head == batch.expecting && found.owner == batch.expectedOwner
                && found.access == batch.expectedAccess ?? found.access && found.isCurrent
            guard isExpected else { return .conflict }
            return changedCallers[batch.session.number].map { .callersChanged($0) }
                ?? heard[batch.session.number].map { .heardBefore($0) }
        }
    }

    func found(_ results: ArraySlice<PostgresRows>) throws -> Found {
        var found = Found()
        guard let heads = results.first else { return found }
        // A session that is gone has no head.
        for row in heads.rows where !row.isNull(1) {
            found.heads[try row.int8(0)] = (
                try row.head(1), try row.owner(4), try row.bits(7), try row.bool(3)
            )
        }
        var others = results.dropFirst()
        let receipts = checkedReceipts.isEmpty ? nil : others.popFirst()
        if !callers.isEmpty, let rows = others.popFirst() { found.changedCallers = try Self.places(rows) }
        if !heard.isEmpty, let rows = others.popFirst() { found.heard = try Self.places(rows) }
        for row in receipts?.rows ?? [] {
            let (place, receipt) = (try row.int4(0), try Rows.receipts.read(row, 1))
            // In the order of the batch's receipts.
            let order = batches[place].receipts.map(\.key)
            if let known = found.duplicates[place], let first = order.firstIndex(of: known.key),
                let second = order.firstIndex(of: receipt.key), first <= second
            {
                continue
            }
            found.duplicates[place] = receipt
        }
        return found
    }

    /// Reads places in sessions' batches, in order.
    private static func places(_ rows: PostgresRows) throws -> [Int64: [Int]] {
        try Dictionary(grouping: rows.map { row in (try row.int8(0), Int(try row.int8(1))) }) { $0.0 }
            .mapValues { $0.map(\.1).sorted() }
    }
}

extension JournalBatch {
    /// True if the batch may be invalid whatever stores its session has. Such a batch is checked on its own.
    var isSuspect: Bool {
        let needed = Set(stores.lazy.filter { $0.kind != .made || $0.setsAside != nil }.map(\.feature))
        return fault(storeCount: 0) { needed.contains($0) } != nil
    }
}
