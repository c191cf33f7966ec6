import MVI
import SQLite
import SessionJournal

/// An append, inside an open transaction.
extension JournalDatabase {
    /// Writes a batch, or nothing if the result is not `committed`.
    func append(_ batch: JournalBatch) throws -> AppendResult {
        guard let entry = try entry(of: batch.session) else { return .failed(.sessionGone) }
        for receipt in batch.receipts where !batch.forgottenReceipts.contains(receipt.key) {
            try bind(receipt.key, of: batch.session, to: findReceipt)
            let known = try findReceipt.first { row in try row.receipt(receipt.key) }
            if let known { return .duplicate(known) }
        }
        guard entry.head == batch.expecting else { return .conflict }
        let known = try batch.rare?.heardBefore { try connection.lastNumber(of: $0, to: batch.session) }
        if let known { return known }
        let fault = batch.fault(storeCount: entry.stores.count) { entry.stores.index(of: $0) != nil }
        if let fault { return .failed(fault) }

        let session = SQLiteValue.integer(batch.session.number)
        try writeStores(of: batch, entry)
        for label in batch.labels { try write(label.packed, of: batch.session) }
        if let first = batch.firstLabel {
            try connection.execute(
                "DELETE FROM labels WHERE session = ? AND (number, place) < (?, ?)",
                [session, .integer(Int64(clamping: first.number)), .integer(first.index)])
        }
        try delete(batch.forgottenLabels, of: batch.session)
        for key in batch.forgottenReceipts { try deleteReceipt(key, of: batch.session) }
        for receipt in batch.receipts { try write(receipt, of: batch.session) }
        if !batch.reminders.isEmpty { try write(batch.reminders, of: batch.session) }
        for visit in batch.rare?.visits ?? [] { try connection.write(visit, of: batch.session) }
        for sender in batch.senders { try connection.write(sender, of: batch.session) }
        if batch.epoch != nil || batch.lostLabels != nil {
            try connection.execute(
                "UPDATE sessions SET epoch = coalesce(?, epoch), lost = coalesce(?, lost) WHERE key = ?",
                [SQLiteValue(batch.epoch), SQLiteValue(batch.lostLabels?.text), session])
        }
        return .committed
    }

    /// Returns the cached entry of a session, loading it if necessary; nil if the session is gone.
    func entry(of session: SessionKey) throws -> SessionCache.Entry? {
        if let entry = cache[session] { return entry }
        guard let rows = try connection.rows(of: session) else { return nil }
        let entry = SessionCache.Entry(rows, earlierHeads: try connection.earlierHeads(of: rows))
        cache[session] = entry
        return entry
    }

    // MARK: Stores and head

    private func writeStores(of batch: JournalBatch, _ entry: SessionCache.Entry) throws {
        let session = batch.session
        // Two rows must not have heads of the same number: the session's head is the one with the highest number.
        if batch.head.number == batch.expecting.number {
            let (table, key, id) = entry.headRow.map { ("stores", "id", $0) } ?? ("sessions", "key", session.number)
            try connection.execute("UPDATE \(table) SET head = -1, recent = NULL WHERE \(key) = ?", [.integer(id)])
        }
        entry.earlierHeads.append(entry.head, before: batch.head)
        (entry.head, entry.headRow) = (batch.head, nil)
        // The head is stored in a row that is written anyway.
        let last = batch.stores.lastIndex { $0.kind != .disposed }
        for (index, change) in batch.stores.enumerated() {
            let earlierHeads = index == last ? entry.earlierHeads.bytes : nil
            var id = entry.stores[change.feature]?.row
            switch change.kind {
            case .changed:
                if let reason = change.setsAside, let id { try setAside(id, reason, change.number, batch.time) }
                guard let id, try write(change, to: id, with: updateStore, batch, earlierHeads) == 1 else {
                    throw StoreError(.unavailable, "The journal's row of \(change.feature) is gone.")
                }
            case .made:
                if let reason = change.setsAside, let id { try setAside(id, reason, change.made, batch.time) }
                try delete(change.feature, of: session, entry)
                let new = entry.add(change.feature, to: session)
                try insertStore.bind(change.feature.text, at: 12)
                try insertStore.bind(Int64(bitPattern: change.made), at: 13)
                try insertStore.bind(change.setsAside == nil ? 0 : Int64(bitPattern: change.made), at: 14)
                _ = try write(change, to: new, with: insertStore, batch, earlierHeads)
                id = new
            case .disposed: try delete(change.feature, of: session, entry)
            }
            if index == last { entry.headRow = id }
        }
        guard last == nil else { return }
        try connection.execute(
            "UPDATE sessions SET head = ?, nonce = ?, recent = ?, last_seen = max(last_seen, ?) WHERE key = ?",
            [
                .bits(batch.head.number), .bits(batch.head.nonce), .blob(entry.earlierHeads.bytes), .time(batch.time),
                .integer(session.number),
            ])
    }

    /// Binds the common parameters of an update and an insertion, and runs the statement.
    private func write(
        _ change: StoreChange, to id: Int64, with statement: PreparedStatement, _ batch: JournalBatch,
        _ earlierHeads: [UInt8]?
    ) throws -> Int {
        try statement.bind(id, at: 1)
        try statement.bind(Int64(bitPattern: change.number), at: 2)
        try statement.bind(Int64(bitPattern: change.version), at: 3)
        try statement.bind(earlierHeads == nil ? -1 : Int64(bitPattern: batch.head.number), at: 4)
        try statement.bind(Int64(bitPattern: batch.head.nonce), at: 5)
        try statement.bind(batch.time.nanoseconds, at: 6)
        try statement.bind(change.schemaVersion, at: 7)
        try statement.bind(change.viewIntent, at: 8)
        return try statement.withBound(earlierHeads, at: 9) {
            try statement.withBound(change.state, at: 10) {
                try statement.withBound(change.view, at: 11) { try statement.run() }
            }
        }
    }

    /// Deletes a store's row if there is one. The session's row keeps the time of the last use.
    private func delete(_ feature: FeatureID, of session: SessionKey, _ entry: SessionCache.Entry) throws {
        guard let index = entry.stores.index(of: feature) else { return }
        let id = entry.stores.remove(at: index).row
        let time = try connection.first("DELETE FROM stores WHERE id = ? RETURNING time", [.integer(id)]) { row in
            try row.time(0)
        }
        if let time { try note(session, seen: time) }
    }

    private func setAside(_ id: Int64, _ reason: String, _ number: UInt64, _ time: Duration) throws {
        try connection.execute(
            """
            INSERT INTO set_aside (session, number, feature, time, reason, schema, state)
            SELECT id >> 16, ?2, feature, ?3, ?4, schema, state FROM stores WHERE id = ?1
            """, [.integer(id), .bits(number), .time(time), .text(reason)])
    }

    // MARK: Labels and receipts

    private func write(_ label: StoredLabel, of session: SessionKey) throws {
        try insertLabel.bind(session.number, at: 1)
        try insertLabel.bind(Int64(bitPattern: label.id.number), at: 2)
        try insertLabel.bind(label.id.index, at: 3)
        try insertLabel.bind(label.feature.text, at: 4)
        try insertLabel.bind(Int64(bitPattern: label.version), at: 5)
        try insertLabel.bind(label.intent, at: 6)
        try insertLabel.bind(label.expiry.nanoseconds, at: 7)
        try insertLabel.bind(label.isWritten ? 1 : 0, at: 8)
        _ = try insertLabel.withBound(label.json, at: 9) { try insertLabel.run() }
    }

    func delete(_ labels: [LabelID], of session: SessionKey) throws {
        for label in labels {
            try connection.execute(
                "DELETE FROM labels WHERE session = ? AND number = ? AND place = ?",
                [.integer(session.number), .bits(label.number), .integer(label.index)])
        }
    }

    private func write(_ receipt: StoredReceipt, of session: SessionKey) throws {
        try bind(receipt.key, of: session, to: insertReceipt)
        try insertReceipt.bind(Int64(bitPattern: receipt.number), at: 4)
        try insertReceipt.bind(receipt.made.nanoseconds, at: 5)
        try insertReceipt.bind(receipt.intent, at: 6)
        // One of the two stays NULL.
        try insertReceipt.bind(nil, at: 7)
        try insertReceipt.bind(nil, at: 8)
        var refusal: [UInt8]?
        switch receipt.outcome {
        case .ran(let version): try insertReceipt.bind(Int64(bitPattern: version), at: 7)
        case .refused(let status, let body):
            try insertReceipt.bind(status, at: 8)
            refusal = body
        }
        _ = try insertReceipt.withBound(receipt.bodyHash, at: 9) {
            try insertReceipt.withBound(refusal, at: 10) { try insertReceipt.run() }
        }
    }

    func deleteReceipt(_ key: ReceiptKey, of session: SessionKey) throws(SQLiteError) {
        try bind(key, of: session, to: deleteReceipt)
        try deleteReceipt.run()
    }

    private func bind(_ key: ReceiptKey, of session: SessionKey, to statement: PreparedStatement) throws(SQLiteError) {
        try statement.bind(session.number, at: 1)
        switch key {
        case .key(let key, let feature):
            try statement.bind("k\(feature.text)", at: 2)
            try statement.bind(key, at: 3)
        case .sequence(let number, let epoch):
            try statement.bind("s\(epoch)", at: 2)
            try statement.bind(Int64(bitPattern: number), at: 3)
        }
    }
}
