import SQLite
import SessionJournal

/// One append, inside an open transaction.
extension JournalDatabase {
    /// Writes an append, or nothing if it ends otherwise than committed.
    func write(_ append: JournalAppend, _ cache: inout SessionCache) throws -> AppendResult {
        guard var entry = try entry(of: append.session, &cache) else { return .failed(.gone) }
        if !append.receipts.isEmpty, let refusal = try refusal(of: append) { return refusal }
        var first = entry.sequence
        if let store = append.store {
            guard !store.turns.isEmpty else { return .failed(.noTurn) }
            first += 1
            entry.sequence += UInt64(store.turns.count)
            if let refusal = try write(store, of: append, first: first, &entry) { return refusal }
            try write(store.turns, of: store.feature, append, first: first, &entry)
        } else {
            // With a store its row has the time.
            try see(append.session, append.time)
        }
        try writeReceipts(of: append, &entry)
        if let label = append.firstLabel { try deleteLabels(before: label, of: append.session) }
        if let marks = append.marks { try write(marks, of: append.session) }
        cache[append.session] = entry
        return .committed(sequence: first)
    }

    /// What is known of a session; nil if it is gone.
    func entry(of session: SessionKey, _ cache: inout SessionCache) throws -> SessionCache.Entry? {
        if let entry = cache.entry(of: session) { return entry }
        try statements.floor.bind(session.number, at: 1)
        guard var sequence = try statements.floor.first({ row in try row.bits(0) }) else { return nil }
        try statements.stores.bind(session.number, at: 1)
        let stores = try statements.stores.all { row in
            sequence = max(sequence, try row.bits(2))
            return (feature: try row.feature(1), id: try row.integer(0))
        }
        let entry = SessionCache.Entry(sequence: sequence, stores: stores)
        cache[session] = entry
        return entry
    }

    func write(_ marks: SessionMarks, of session: SessionKey) throws(SQLiteError) {
        let statement = statements.marks
        try statement.bind(session.number, at: 1)
        try statement.bind(Int64(bitPattern: marks.versionFloor), at: 2)
        try statement.bind(Int64(bitPattern: marks.droppedSequence), at: 3)
        try statement.bind(MarkFlags(marks).number, at: 4)
        try statement.run()
    }

    func see(_ session: SessionKey, _ time: Duration) throws(SQLiteError) {
        try statements.seen.bind(session.number, at: 1)
        try statements.seen.bind(time.nanoseconds, at: 2)
        try statements.seen.run()
    }

    // MARK: The store

    private func write(
        _ store: StoreAppend, of append: JournalAppend, first: UInt64, _ entry: inout SessionCache.Entry
    ) throws -> AppendResult? {
        guard let expecting = store.expecting else { return try insert(store, of: append, &entry) }
        guard let id = entry.id(of: store.feature) else { return .conflict }
        if let reason = store.setsAside {
            guard try token(of: id) == expecting else { return .conflict }
            guard store.state != nil, store.view != nil else { return .failed(.noState) }
            try setAside(id, reason, append, first: first)
        }
        let statement = statements.updateStore
        try statement.bind(id, at: 1)
        try statement.bind(Int64(bitPattern: expecting.version), at: 3)
        try statement.bind(Int64(bitPattern: expecting.nonce), at: 4)
        try statement.bind(store.setsAside == nil ? 0 : Int64(bitPattern: first), at: 15)
        // No row with that token: another writer was first.
        return try run(statement, store, append, entry) == 1 ? nil : .conflict
    }

    private func insert(
        _ store: StoreAppend, of append: JournalAppend, _ entry: inout SessionCache.Entry
    ) throws -> AppendResult? {
        guard entry.id(of: store.feature) == nil else { return .conflict }
        guard store.state != nil, store.view != nil else { return .failed(.noState) }
        guard store.setsAside == nil else { return .failed(.nothingToSetAside) }
        guard let id = entry.enter(store.feature, session: append.session) else { return .failed(.tooManyStores) }
        try statements.insertStore.bind(id, at: 1)
        try statements.insertStore.bind(store.feature.text, at: 2)
        _ = try run(statements.insertStore, store, append, entry)
        return nil
    }

    /// Binds what an update and an insertion have in common.
    private func run(
        _ statement: PreparedStatement, _ store: StoreAppend, _ append: JournalAppend, _ entry: SessionCache.Entry
    ) throws -> Int {
        try statement.bind(Int64(bitPattern: store.token.version), at: 5)
        try statement.bind(Int64(bitPattern: store.token.nonce), at: 6)
        try statement.bind(Int64(bitPattern: entry.sequence), at: 7)
        try statement.bind(append.time.nanoseconds, at: 8)
        try statement.bind(Int64(bitPattern: store.marks.droppedSequence), at: 9)
        try statement.bind(MarkFlags(store.marks).number, at: 10)
        try statement.bind(store.schemaVersion, at: 12)
        try statement.bind(store.viewIntent, at: 14)
        return try statement.withBound(store.state, at: 11) {
            try statement.withBound(store.view, at: 13) { try statement.run() }
        }
    }

    private func token(of id: Int64) throws -> StoreToken? {
        try statements.storeToken.bind(id, at: 1)
        return try statements.storeToken.first { row in
            StoreToken(version: try row.bits(0), nonce: try row.bits(1))
        }
    }

    private func setAside(_ id: Int64, _ reason: String, _ append: JournalAppend, first: UInt64) throws {
        let statement = statements.setAside
        try statement.bind(id, at: 1)
        try statement.bind(Int64(bitPattern: first), at: 2)
        try statement.bind(append.time.nanoseconds, at: 3)
        try statement.bind(reason, at: 4)
        try statement.run()
    }

    // MARK: Its turns

    private func write(
        _ turns: [TurnAppend], of feature: FeatureID, _ append: JournalAppend, first: UInt64,
        _ entry: inout SessionCache.Entry
    ) throws {
        var sequence = Int64(bitPattern: first)
        for turn in turns {
            for (place, label) in turn.labels.enumerated() {
                try write(label, sequence: sequence, place: place, feature, append.session)
            }
            if let recording = turn.recording {
                let statement = statements.insertRecording
                try statement.bind(append.session.number, at: 1)
                try statement.bind(sequence, at: 2)
                try statement.bind(feature.text, at: 3)
                try statement.bind(append.time.nanoseconds, at: 4)
                let count = try recordings(of: append.session, entry)
                _ = try statement.withBound(recording, at: 5) { try statement.run() }
                entry.recordings = try trim(append.session, count: count + 1, limit: turn.recordingLimit)
            }
            sequence += 1
        }
    }

    private func write(
        _ label: LabelAppend, sequence: Int64, place: Int, _ feature: FeatureID, _ session: SessionKey
    ) throws {
        let statement = statements.insertLabel
        try statement.bind(session.number, at: 1)
        try statement.bind(sequence, at: 2)
        try statement.bind(place, at: 3)
        try statement.bind(feature.text, at: 4)
        try statement.bind(Int64(bitPattern: label.version), at: 5)
        try statement.bind(label.intent, at: 6)
        try statement.bind(label.expiry.nanoseconds, at: 7)
        _ = try statement.withBound(label.json, at: 8) { try statement.run() }
    }

    private func deleteLabels(before label: LabelID, of session: SessionKey) throws(SQLiteError) {
        let statement = statements.deleteLabels
        try statement.bind(session.number, at: 1)
        try statement.bind(Int64(clamping: label.sequence), at: 2)
        try statement.bind(label.index, at: 3)
        try statement.run()
    }

    private func recordings(of session: SessionKey, _ entry: SessionCache.Entry) throws -> Int {
        if let count = entry.recordings { return count }
        try statements.countRecordings.bind(session.number, at: 1)
        return try statements.countRecordings.first { row in try row.int(0) } ?? 0
    }

    /// Leaves the newest `limit` of so many recorded turns; says how many there are now.
    private func trim(_ session: SessionKey, count: Int, limit: Int) throws(SQLiteError) -> Int {
        let excess = count - max(0, limit)
        guard excess > 0 else { return count }
        try statements.trimRecordings.bind(session.number, at: 1)
        try statements.trimRecordings.bind(excess, at: 2)
        return count - (try statements.trimRecordings.run())
    }
}

extension JournalFailure {
    fileprivate static let noTurn = JournalFailure(.invalid, "An append to a store needs at least one turn.")
    fileprivate static let noState = JournalFailure(.invalid, "A store that starts needs its state and its view state.")
    fileprivate static let nothingToSetAside = JournalFailure(
        .invalid, "There is no store whose state could be set aside.")
    fileprivate static let tooManyStores = JournalFailure(.invalid, "A session cannot have more than 65,536 stores.")
}
