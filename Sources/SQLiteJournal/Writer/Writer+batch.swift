import SQLite
import SessionJournal

/// Group commit: all that waits becomes one transaction.
extension Writer {
    /// Writes a transaction's worth of what waits, and hands the results over.
    func commitPending() {
        var deliveries = DeliveryBatch(lanes: engine.lanes)
        var bytes = 0
        var ticket: UInt64 = 0
        var batch: [WriterQueue.Entry] = []
        batch.reserveCapacity(min(pending.count, engine.options.transactionItems))
        while let entry = pending.first, batch.count < engine.options.transactionItems {
            guard batch.isEmpty || bytes + entry.bytes <= engine.options.transactionBytes else { break }
            pending.removeFirst()
            bytes += entry.bytes
            ticket = entry.ticket
            switch entry.item {
            // These take their steps between transactions, after this one.
            case .expire(let expiry): expiries.append(expiry)
            case .backup(let path, let done): beginBackup(to: path, done)
            default: batch.append(entry)
            }
        }
        if let database, !batch.isEmpty { timed { commit(batch, database, &deliveries) } }
        publish()
        engine.queue.finished(ticket, bytes: bytes)
        deliveries.hand()
    }

    private func commit(
        _ batch: [WriterQueue.Entry], _ database: JournalDatabase, _ deliveries: inout DeliveryBatch
    ) {
        let start = deliveries.mark
        let appends: Int
        do {
            try database.begin()
            appends = try write(batch, database, &deliveries)
        } catch {
            // Nothing reached the log as a commit.
            undo(database)
            deliveries.rewind(to: start)
            guard batch.count > 1, (error as? SQLiteError)?.isOfMedium != true else {
                let failure = JournalFailure(error, at: engine.files.database)
                for entry in batch { deliveries.add(entry.item.refused(failure), entry.item.session) }
                if (error as? SQLiteError)?.isOfMedium == true { begin(failure) } else { logDamage(failure) }
                return
            }
            // One of them is bad. Each by itself, so that only that one fails.
            for entry in batch {
                if let trouble {
                    deliveries.add(entry.item.refused(trouble), entry.item.session)
                } else {
                    commit([entry], database, &deliveries)
                }
            }
            return
        }
        do {
            let start = ContinuousClock.now
            try database.commit()
            (lastCommit, lastCount) = (ContinuousClock.now - start, batch.count)
            statistics.transactions += 1
            statistics.appends += appends
        } catch {
            undo(database)
            deliveries.rewind(to: start)
            let failure = JournalFailure(error, at: engine.files.database)
            if error.leavesNothingCommitted {
                for entry in batch { deliveries.add(entry.item.refused(failure), entry.item.session) }
            } else {
                // It may stand in the log, complete but for the sync: after a crash it could turn out to be kept.
                engine.doubt.withLock { doubt in for entry in batch { doubt.add(entry.item) } }
                for entry in batch { deliveries.add(entry.item.unknown(failure), entry.item.session) }
            }
            begin(failure)
        }
    }

    /// Writes a batch inside an open transaction; says how many appends were kept.
    private func write(
        _ batch: [WriterQueue.Entry], _ database: JournalDatabase, _ deliveries: inout DeliveryBatch
    ) throws -> Int {
        var appends = 0
        for entry in batch {
            switch entry.item {
            case .append(let append, let done):
                let result = try database.write(append, &cache)
                if case .committed = result { appends += 1 }
                deliveries.add(.append(result, done), append.session)
            case .create(let session, let done):
                let key = try database.create(session)
                deliveries.add(.other { done(key.map { .success($0) } ?? .failure(.exists)) }, key)
            case .removeStore(let feature, let session, let marks, let done):
                try database.removeStore(feature, of: session, marks: marks, &cache)
                deliveries.add(.other { done(.success(())) }, session)
            case .remove(let session, let until, let done):
                if try database.remove(session, tombstoneUntil: until, &cache) { hasGarbage = true }
                deliveries.add(.other { done(.success(())) }, session)
            case .touch(let touches, let done):
                for touch in touches { try database.note(touch) }
                deliveries.add(.other { done(.success(())) }, touches.first?.session)
            case .expire, .backup: preconditionFailure("a job of many steps was put into a transaction")
            }
        }
        return appends
    }

    /// Undoes the open transaction, and forgets what was remembered of it.
    func undo(_ database: JournalDatabase) {
        database.rollback()
        cache.removeAll()
    }

    private func logDamage(_ failure: JournalFailure) {
        guard failure.code == .unavailable else { return }
        engine.logger.error("The journal could not keep something of a session.", metadata: ["reason": "\(failure)"])
    }
}

/// The results of a transaction, lane by lane.
struct DeliveryBatch {
    private let lanes: Lanes
    private var parts: [[Delivery]]

    init(lanes: Lanes) {
        self.lanes = lanes
        parts = Array(repeating: [], count: lanes.count)
    }

    var mark: [Int] { parts.map(\.count) }

    mutating func rewind(to mark: [Int]) {
        for index in parts.indices { parts[index].removeLast(parts[index].count - mark[index]) }
    }

    mutating func add(_ delivery: Delivery, _ session: SessionKey?) {
        parts[session.map(lanes.index) ?? 0].append(delivery)
    }

    func hand() {
        for (index, part) in parts.enumerated() where !part.isEmpty { lanes.hand(part, to: index) }
    }
}

extension Doubt {
    mutating func add(_ item: WriteItem) {
        switch item {
        case .create(let session, _): tokens.insert(session.tokenHash)
        case .touch(let touches, _): sessions.formUnion(touches.lazy.map(\.session))
        case .remove: isOfAll = true
        default: if let session = item.session { sessions.insert(session) }
        }
    }
}
