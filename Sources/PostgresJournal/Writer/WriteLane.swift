import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A thread that writes on its own connection: it takes all ready writes as one group, while the next group gathers.
final class WriteLane {
    let engine: PostgresEngine
    let index: Int
    /// The lane's id in the database for the life of the process.
    let id = Int64.random(in: 1 ... .max)
    /// The time for which the present task waits for rows that other transactions hold.
    var rowPatience: Duration = .zero
    /// The number of connections so far. Each transaction checks that its own is the last.
    var generation: Int64 = 0
    /// Nil without a connection.
    var connection: PostgresConnection?
    var nextAttempt: ContinuousClock.Instant = .now
    var failedAttempts = 0
    /// True after a full disk, until a probe that needs room is committed.
    var lacksRoom = false
    var nextProbe: ContinuousClock.Instant = .now
    /// Writes whose rows other transactions hold.
    var deferred = DeferredWrites()
    /// News for other processes.
    var news = OutgoingNews()
    /// True if the lane connects: the one for nodes does so when there is a write for it.
    private var isNeeded: Bool
    private var lastKind = 0
    /// The shortest time, since 0 means no limit.
    private static let noPatience: Duration = .milliseconds(1)

    init(_ engine: PostgresEngine, index: Int) {
        (self.engine, self.index) = (engine, index)
        isNeeded = index < engine.newsLane
    }

    /// The thread's main function. Calls `opened` once with the result of opening, which succeeds also in trouble.
    func run(opened: (Result<Void, JournalOpenError>) -> Void) {
        do {
            if isNeeded { try openAtFirst() }
        } catch {
            engine.close()
            engine.threadEnded()
            return opened(.failure(error))
        }
        opened(.success(()))
        while true {
            if !isNeeded {
                isNeeded = engine.hasTask(index)
                if engine.isOver { break }
                if !isNeeded { engine.waitForTask(index, atMost: .seconds(3_600)) }
                continue
            }
            if connection == nil, !reopenIfDue() {
                refuseAll()
                if engine.isOver { break }
                engine.waitForTask(index, atMost: nextAttempt - .now)
                continue
            }
            if let task = deferred.take(now: .now) { perform(task.inOrder, isDeferred: true) }
            guard connection != nil else { continue }
            guard let task = engine.nextTask(index, after: &lastKind) else {
                tellNews()
                if engine.isOver { break }
                probeIfDue()
                if connection != nil {
                    engine.waitForTask(index, atMost: min(nextProbe, deferred.nextDue ?? nextProbe) - .now)
                }
                continue
            }
            nextProbe = .now + engine.options.probeInterval
            perform(task.inOrder, isDeferred: false)
        }
        leave()
        connection = nil
        engine.threadEnded()
    }

    // MARK: Tasks

    /// - Parameter isDeferred: True if the writes waited for rows: the rows are tested without waiting again.
    private func perform(_ task: PostgresEngine.Task, isDeferred: Bool) {
        rowPatience = isDeferred ? Self.noPatience : engine.options.groupLockTime
        let outcomes: [Outcome]
        switch task {
        case .group(let writes):
            let values = writes.map(\.value)[...]
            outcomes = isDeferred ? commit(unlocked: values) : commit(appends: values)
        case .statements(let writes): outcomes = commit(statements: writes.map(\.value)[...])
        case .steps(let write): outcomes = [commit(write.value)]
        case .streams(let writes): outcomes = commit(streams: writes.map(\.value)[...])
        }
        if index != engine.newsLane { tellNews() }
        var (answered, completions): ([PostgresEngine.Ready<Write>], [Completion]) = ([], [])
        for (write, outcome) in zip(task.writes, outcomes) {
            guard let completion = outcome.completion ?? put(off: write) else { continue }
            answered.append(write)
            completions.append(completion)
        }
        if isDeferred { deferred.remove(answered.lazy.map(\.id)) }
        answer(answered, with: completions)
        if index == engine.newsLane { tellNews() }
    }

    /// Defers a write whose row another transaction holds. Returns its result if its waiting time is over.
    private func put(off write: PostgresEngine.Ready<Write>) -> Completion? {
        if connection != nil, deferred.add(write, now: .now, atMost: engine.options.lockTime) { return nil }
        return write.value.fail(connection == nil ? .unavailableMeanwhile : .rowIsLocked, false)
    }

    func answer(_ writes: [PostgresEngine.Ready<Write>], with completions: [Completion]) {
        engine.completions.enqueue(completions, of: writes.lazy.map(\.value.session))
        engine.finish(writes.map(\.id), bytes: writes.reduce(0) { $0 + $1.value.bytes })
    }

    /// Begins a transaction on the connection, which must exist.
    func begin() throws(WriteFailure) -> WriteTransaction {
        guard let connection else {
            throw WriteFailure(
                error: PostgresError(state: nil, message: "There is no connection.", extent: .connection),
                isUnknown: false)
        }
        return WriteTransaction(
            connection, guardedBy: guardStatement, deadline: .now + engine.options.transactionTime
        ) { [engine] position in
            engine.acknowledged.withLock { $0 = max($0, position) }
        }
    }

    var guardStatement: PostgresStatement {
        let options = engine.options
        return PostgresStatement(
            engine.statements.guardText,
            [
                .int8(id), .int8(generation), .milliseconds(options.statementTime), .milliseconds(rowPatience),
                .milliseconds(options.idleTransactionTime), .milliseconds(options.transactionTime),
                .int4(Int32(options.migrations.count)),
            ])
    }

    /// Commits appends of different sessions as one transaction or, if that fails, in parts, and returns the results.
    func commit(appends writes: ArraySlice<Write>, attempt: Int = 1, checksStores: Bool = false) -> [Outcome] {
        let batches = writes.compactMap { write -> JournalBatch? in
            if case .append(let batch, _) = write.work { batch } else { nil }
        }
        do {
            let group = AppendGroup(batches, checksStores: checksStores)
            // An invalid batch does not block the others.
            if batches.contains(where: \.isSuspect) {
                return try batches.count == 1 ? [.over(judge(writes[writes.startIndex], batches[0]))] : split(writes)
            }
            return try commit(group, writes, batches, in: try begin())
        } catch {
            if writes.count > 1, (error as? WriteFailure)?.error.isOfLock == true, rollBack() {
                return commit(unlocked: writes)
            }
            if !checksStores, (error as? WriteFailure)?.error.lacksStore == true, rollBack() {
                return commit(appends: writes, attempt: attempt, checksStores: true)
            }
            return afterFailure(error, of: writes, attempt: attempt) { commit(appends: $0, attempt: $1) }
        }
    }

    /// Commits appends, except those whose rows another transaction holds, without waiting.
    private func commit(unlocked writes: ArraySlice<Write>) -> [Outcome] {
        rowPatience = Self.noPatience
        do {
            let sql = engine.statements
            let keys = PostgresValue.int8s(writes.compactMap(\.session?.number))
            let transaction = try begin()
            let rows = try transaction.run([
                PostgresStatement(sql.lockFreeHeads, [keys]), PostgresStatement(sql.presentHeads, [keys]),
            ])
            let free = Set(try rows[0].map { row in try row.int8(0) })
            let locked = Set(try rows[1].map { row in try row.int8(0) }).subtracting(free)
            let rest = writes.filter { !locked.contains($0.order) }
            let batches = rest.compactMap { write -> JournalBatch? in
                if case .append(let batch, _) = write.work { batch } else { nil }
            }
            if rest.isEmpty || batches.contains(where: \.isSuspect) {
                try transaction.rollBack()
                if rest.isEmpty { return writes.map { _ in .locked } }
            }
            var outcomes = try
                (transaction.isOpen
                ? commit(AppendGroup(batches, checksStores: true), rest[...], batches, in: transaction)
                : split(rest[...]))[...]
            return writes.map { write in
                locked.contains(write.order) ? .locked : outcomes.popFirst() ?? .locked
            }
        } catch {
            // Others hold whole tables.
            if (error as? WriteFailure)?.error.isOfLock == true, rollBack() { return writes.map { _ in .locked } }
            return afterFailure(error, of: writes, attempt: 1) { commit(appends: $0, attempt: $1) }
        }
    }

    private func commit(
        _ group: AppendGroup, _ writes: ArraySlice<Write>, _ batches: [JournalBatch], in transaction: WriteTransaction
    ) throws -> [Outcome] {
        let sql = engine.statements
        let begun = ContinuousClock.now
        let appends = group.append(sql)
        let results = try transaction.commit(appends + group.writes(sql))
        let refused = Set(try results[0].map { row in try row.int8(0) })
        let found = try group.found(results[..<appends.count])
        let count = batches.count - refused.count
        engine.count { statistics in
            statistics.transactions += 1
            statistics.appends += count
            statistics.largestGroup = max(statistics.largestGroup, count)
        }
        engine.meter.withLock { $0 }?.committed(appends: count, in: .now - begun)
        for batch in batches where !refused.contains(batch.session.number) { news.append(batch.session, batch.head) }
        return zip(writes, batches).enumerated().map { place, pair in
            let (write, batch) = pair
            guard case .append(_, let done) = write.work else { preconditionFailure("a group contains appends only") }
            if !refused.contains(batch.session.number) { return .over(.append(.committed, done)) }
            if let refusal = found.refusal(of: batch, at: place) { return .over(.append(refusal, done)) }
            // A missing store, or too many.
            do { return .over(try judge(write, batch)) } catch { return fail(write, error) }
        }
    }

    /// Commits one append whose validity depends on its session's stores, in two steps.
    private func judge(_ write: Write, _ batch: JournalBatch) throws -> Completion {
        guard case .append(_, let done) = write.work else { preconditionFailure("only an append can be checked") }
        let (sql, group) = (engine.statements, AppendGroup([batch]))
        let begun = ContinuousClock.now
        let transaction = try begin()
        let lookUps = group.lookUps(sql)
        let results = try transaction.run(lookUps + [PostgresStatement(sql.storeNames, [.key(batch.session)])])
        var refusal = try group.found(results[..<lookUps.count]).refusal(of: batch, at: 0)
        if refusal == nil {
            let stores = Set(try results[lookUps.count].map { row in try row.feature(0) })
            refusal = batch.fault(storeCount: stores.count) { stores.contains($0) }.map { .failed($0) }
        }
        if let refusal {
            try transaction.rollBack()
            return .append(refusal, done)
        }
        _ = try transaction.commit(group.append(sql) + group.writes(sql))
        engine.count { statistics in
            statistics.transactions += 1
            statistics.appends += 1
        }
        engine.meter.withLock { $0 }?.committed(appends: 1, in: .now - begun)
        news.append(batch.session, batch.head)
        return .append(.committed, done)
    }

    /// Commits single statements as one transaction or, if that fails, each in its own. Returns their results in order.
    private func commit(statements writes: ArraySlice<Write>, attempt: Int = 1) -> [Outcome] {
        do {
            let results = try begin().commit(
                writes.compactMap { write in
                    if case .statement(let statement, _) = write.work { statement } else { nil }
                })
            engine.count { $0.transactions += 1 }
            return zip(writes, results).map { write, rows in
                guard case .statement(_, let result) = write.work else { preconditionFailure("not a statement") }
                do { return .over(try result(rows, &news)) } catch { return fail(write, error) }
            }
        } catch {
            return afterFailure(error, of: writes, attempt: attempt) { commit(statements: $0, attempt: $1) }
        }
    }

    /// Runs a write that is a transaction of its own.
    private func commit(_ write: Write, attempt: Int = 1) -> Outcome {
        guard case .steps(let body) = write.work else { preconditionFailure("not in steps") }
        do {
            let transaction = try begin()
            let completion = try body(transaction)
            try transaction.rollBack()
            if transaction.isCommitted { engine.count { $0.transactions += 1 } }
            news.add(transaction.news)
            return .over(completion)
        } catch {
            return afterFailure(error, of: [write], attempt: attempt) { [commit($0[$0.startIndex], attempt: $1)] }[0]
        }
    }

    /// Returns the outcomes after a failed transaction, retrying the writes if that may help.
    func afterFailure(
        _ error: any Error, of writes: ArraySlice<Write>, attempt: Int,
        again: (ArraySlice<Write>, Int) -> [Outcome]
    ) -> [Outcome] {
        let failure = error as? WriteFailure
        let isUnknown = failure?.isUnknown == true
        if let failure, failure.error.isOfDatabase || isUnknown {
            let lost = loseConnection(failure, writes)
            // By an idle timeout of the database or of a pooler, or by a restart.
            if !failure.isBegun, attempt == 1, reopenIfDue() { return again(writes, attempt + 1) }
            return lost.map { .over($0) }
        }
        guard rollBack() else { return writes.map { fail($0, error) } }
        if writes.count == 1, failure?.error.isOfLock == true { return [.locked] }
        if failure?.error.lacksPartition == true, attempt == 1, makePartitions() { return again(writes, attempt + 1) }
        if writes.count > 1 {
            // One of them failed. Each runs alone, so that only that one fails.
            engine.count { $0.splits += 1 }
            if failure?.error.isOfLock == true { rowPatience = Self.noPatience }
            return split(writes, again: again)
        }
        if attempt < 4, failure?.error.isWorthAnotherTry == true { return again(writes, attempt + 1) }
        let reason = StoreError(error, at: engine.place)
        if reason.code == .unavailable {
            engine.logger.error(
                "The journal could not store a change of a session.", metadata: ["reason": "\(reason)"])
        }
        return writes.map { .over($0.fail(reason, false)) }
    }

    private func split(_ writes: ArraySlice<Write>) -> [Outcome] {
        split(writes) { commit(appends: $0, attempt: $1) }
    }

    private func split(
        _ writes: ArraySlice<Write>, again: (ArraySlice<Write>, Int) -> [Outcome]
    ) -> [Outcome] {
        writes.indices.flatMap { index -> [Outcome] in
            if connection == nil { return [.over(writes[index].fail(.unavailableMeanwhile, false))] }
            return again(writes[index...index], 1)
        }
    }

    /// Rolls back a failed transaction. Returns true if the connection is usable.
    private func rollBack() -> Bool {
        guard let connection else { return false }
        do {
            _ = try connection.run(
                [PostgresStatement("ROLLBACK")], deadline: .now + engine.options.transactionTime)
            return true
        } catch {
            self.connection = nil
            return false
        }
    }

    private func fail(_ write: Write, _ error: any Error) -> Outcome {
        if let failure = error as? WriteFailure, failure.error.isOfDatabase || failure.isUnknown {
            return .over(loseConnection(failure, [write])[0])
        }
        _ = rollBack()
        if (error as? WriteFailure)?.error.isOfLock == true { return .locked }
        return .over(write.fail(StoreError(error, at: engine.place), false))
    }
}

extension StoreError {
    fileprivate static let unavailableMeanwhile = StoreError(
        .unavailable, "The connection to the journal's database was lost; nothing was stored.")
    fileprivate static let rowIsLocked = StoreError(
        .unavailable, "Another transaction in the journal's database holds a row that this needs; nothing was stored.",
        retryAfter: .seconds(1))
}
