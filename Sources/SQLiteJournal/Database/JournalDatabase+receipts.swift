import SQLite
import SessionJournal

/// The receipts of an append, inside an open transaction.
extension JournalDatabase {
    /// Why an append's receipts keep it from being kept; nil if they do not. A receipt that the same append forgets
    /// stands in nobody's way.
    func refusal(of append: JournalAppend) throws -> AppendResult? {
        for (index, receipt) in append.receipts.enumerated() {
            if !append.forgottenReceipts.contains(receipt.key), let known = try find(receipt.key, append.session) {
                return .duplicate(known)
            }
            if append.receipts[..<index].contains(where: { $0.key == receipt.key }) {
                return .failed(JournalFailure(.invalid, "One append has two receipts with the same key."))
            }
        }
        return nil
    }

    func writeReceipts(of append: JournalAppend, _ entry: inout SessionCache.Entry) throws {
        for key in append.forgottenReceipts {
            try bind(key, of: append.session, to: statements.deleteReceipt)
            try statements.deleteReceipt.run()
        }
        for epoch in append.forgottenEpochs {
            try statements.deleteEpoch.bind(append.session.number, at: 1)
            try statements.deleteEpoch.bind(epoch, at: 2)
            try statements.deleteEpoch.run()
        }
        guard !append.receipts.isEmpty else { return }
        var place = try lastPlace(append.session, entry)
        for receipt in append.receipts {
            place += 1
            try write(receipt, place: place, of: append.session)
            if case .sequence(let number, let epoch) = receipt.key {
                try statements.putEpoch.bind(append.session.number, at: 1)
                try statements.putEpoch.bind(epoch, at: 2)
                try statements.putEpoch.bind(Int64(bitPattern: number), at: 3)
                try statements.putEpoch.run()
            }
        }
        entry.lastPlace = place
    }

    private func find(_ key: ReceiptKey, _ session: SessionKey) throws -> StoredReceipt? {
        try bind(key, of: session, to: statements.findReceipt)
        return try statements.findReceipt.first { row in try row.receipt(key, from: 0) }
    }

    private func lastPlace(_ session: SessionKey, _ entry: SessionCache.Entry) throws -> Int64 {
        if let place = entry.lastPlace { return place }
        try statements.lastPlace.bind(session.number, at: 1)
        return try statements.lastPlace.first { row in try row.integer(0) } ?? 0
    }

    private func write(_ receipt: StoredReceipt, place: Int64, of session: SessionKey) throws {
        let statement = statements.insertReceipt
        try bind(receipt.key, of: session, to: statement)
        try statement.bind(place, at: 4)
        try statement.bind(receipt.made.nanoseconds, at: 5)
        try statement.bind(receipt.intent, at: 6)
        var refusal: [UInt8]?
        switch receipt.outcome {
        case .ran(let version):
            try statement.bind(Int64(bitPattern: version), at: 7)
            try statement.bind(nil, at: 8)
        case .refused(let status, let body):
            try statement.bind(nil, at: 7)
            try statement.bind(status, at: 8)
            refusal = body
        }
        _ = try statement.withBound(receipt.bodyHash, at: 9) {
            try statement.withBound(refusal, at: 10) { try statement.run() }
        }
    }

    private func bind(
        _ key: ReceiptKey, of session: SessionKey, to statement: PreparedStatement
    ) throws(SQLiteError) {
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

extension Row {
    /// A receipt whose columns body_hash, intent, version, status, body, made begin at `column`.
    func receipt(_ key: ReceiptKey, from column: Int) throws -> StoredReceipt {
        let outcome: StoredReceipt.Outcome =
            if let version = try optionalInteger(column + 2) {
                .ran(version: UInt64(bitPattern: version))
            } else {
                .refused(status: try int(column + 3), body: try blob(column + 4))
            }
        return StoredReceipt(
            key: key, bodyHash: try blob(column), intent: try text(column + 1), outcome: outcome,
            made: try time(column + 5))
    }
}
