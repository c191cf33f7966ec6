import Logging
import MVI
import SQLite
import SessionJournal

/// Group commit: all that waits becomes one transaction.
extension Writer {
    /// Writes a transaction's worth of what waits, and enqueues the results.
    func commitPending() {
        var writes: [JournalQueue.Waiting] = []
        writes.reserveCapacity(min(pending.count, engine.options.transactionItems))
        var bytes = 0
        while let next = pending.first, writes.count < engine.options.transactionItems {
            guard writes.isEmpty || bytes + next.write.bytes <= engine.options.transactionBytes else { break }
            pending.removeFirst()
            bytes += next.write.bytes
            writes.append(next)
        }
        guard let database, !writes.isEmpty || database.hasGarbage else { return }
        let completions = timed { commit(writes[...], to: database) }
        publish()
        if let last = writes.last { engine.queue.finished(last.ticket, bytes: bytes) }
        engine.completions.enqueue(completions, of: writes)
    }

    /// Commits some writes as one transaction, or each in one of its own; returns their results. Garbage is deleted in
    /// the same transaction.
    private func commit(_ writes: ArraySlice<JournalQueue.Waiting>, to database: JournalDatabase) -> [Completion] {
        if writes.isEmpty, !database.hasGarbage { return [] }
        var isDeletingGarbage = false
        let completions: [Completion]
        do {
            try database.begin()
            completions = try writes.map { try $0.write.run(database) }
            isDeletingGarbage = database.hasGarbage
            if isDeletingGarbage { try database.deleteGarbage(until: .now + engine.options.stepTime) }
        } catch {
            // Nothing reached the log as a commit.
            database.rollback()
            let isOfMedium = (error as? SQLiteError)?.isOfMedium == true
            if isDeletingGarbage, !isOfMedium {
                // Something in the file is damaged where only this looks. Another start tries again.
                database.hasGarbage = false
                engine.logger.error("Expired sessions could not be deleted.", metadata: ["reason": "\(error)"])
                return commit(writes, to: database)
            }
            if writes.count > 1, !isOfMedium {
                // One of them is bad. Each by itself, so that only that one fails.
                return writes.indices.flatMap { index in
                    engine.trouble.map { [writes[index].write.fail($0, false)] }
                        ?? commit(writes[index...index], to: database)
                }
            }
            let failure = StoreError(error, at: engine.files.database)
            if isOfMedium {
                beginTrouble(failure)
            } else if failure.code == .unavailable {
                engine.logger.error(
                    "The journal could not keep something of a session.", metadata: ["reason": "\(failure)"])
            }
            return writes.map { $0.write.fail(failure, false) }
        }
        do {
            let start = ContinuousClock.now
            try database.commit()
            (lastCommit, lastCount) = (ContinuousClock.now - start, writes.count)
            statistics.transactions += 1
            statistics.appends += completions.count { if case .append(.committed, _) = $0 { true } else { false } }
            return completions
        } catch {
            database.rollback()
            let failure = StoreError(error, at: engine.files.database)
            defer { beginTrouble(failure) }
            if error.leavesNothingCommitted { return writes.map { $0.write.fail(failure, false) } }
            // It may stand in the log, complete but for the sync: after a crash it could turn out to be kept.
            var inDoubt = engine.inDoubt
            for waiting in writes { inDoubt.insert(waiting.write.scope) }
            engine.inDoubt = inDoubt
            return writes.map { $0.write.fail(failure, true) }
        }
    }
}
