import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A lane's connection, and its behavior without one.
extension WriteLane {
    /// Connects for the first time. Throws permanent errors; the others are trouble.
    func openAtFirst() throws(JournalOpenError) {
        do { try open() } catch let error as JournalOpenError { throw error } catch { beginTrouble(error) }
    }

    /// True if there is a connection. Tries to open one if it is time.
    func reopenIfDue() -> Bool {
        guard ContinuousClock.now >= nextAttempt else { return false }
        do { try open() } catch {
            beginTrouble(error)
            return false
        }
        let isFull = engine.isFull
        if failedAttempts > 0, !isFull { engine.logger.notice("The journal's database works again.") }
        failedAttempts = 0
        return true
    }

    /// Connects, migrates the schema, and resolves doubts that an earlier connection left.
    private func open() throws {
        connection = nil
        let options = engine.options
        let connection = try PostgresConnection(engine.target, deadline: .now + options.connectTime)
        engine.count { $0.connections += 1 }
        try DatabaseSetup(connection, engine: engine, deadline: .now + options.transactionTime).prepare()
        try settle(connection)
        try proveRoom(connection)
        self.connection = connection
        nextProbe = .now + options.probeInterval
        engine.endDoubt(of: index)
        tellNews()
        engine.noteTrouble(nil, of: index)
    }

    /// Commits a new generation of this lane. It waits for the end of the last connection's transaction, and makes one
    /// that has not begun fail, so later reads are certain. As a commit itself, synchronous if the database is
    /// configured so, it proves that earlier commits are durable too.
    private func settle(_ connection: PostgresConnection) throws {
        let options = engine.options
        generation += 1
        let transaction = WriteTransaction(
            connection,
            guardedBy: PostgresStatement(
                engine.statements.limits,
                [
                    .milliseconds(options.statementTime), .milliseconds(options.lockTime),
                    .milliseconds(options.idleTransactionTime), .milliseconds(options.transactionTime),
                ]),
            deadline: .now + options.transactionTime)
        let rows = try transaction.commit([
            PostgresStatement(engine.statements.endPredecessor, [.int8(id)]),
            PostgresStatement(engine.statements.settle, [.int8(id), .int8(generation)]),
        ])
        guard rows.last?.rows.isEmpty == false else {
            throw StoreError(.unavailable, "A newer connection of this process replaced this one.")
        }
    }

    /// Commits what needs room after a full disk. Otherwise the journal would seem to work until the next append.
    private func proveRoom(_ connection: PostgresConnection) throws {
        guard lacksRoom else { return }
        // Random bytes, which the database cannot compress.
        let bytes = (0..<(256 << 10)).map { _ in UInt8.random(in: .min ... .max) }
        rowPatience = engine.options.lockTime
        _ = try WriteTransaction(
            connection, guardedBy: guardStatement, deadline: .now + engine.options.transactionTime
        ).commit(engine.statements.takeRoom(bytes))
        lacksRoom = false
    }

    /// Deletes the lane's row.
    func leave() {
        guard let connection else { return }
        _ = try? connection.run(
            [PostgresStatement(engine.statements.leave, [.int8(id)])], deadline: .now + engine.options.lockTime)
    }

    /// Tests an idle connection and the database.
    func probeIfDue() {
        guard ContinuousClock.now >= nextProbe else { return }
        nextProbe = .now + engine.options.probeInterval
        rowPatience = engine.options.lockTime
        do { _ = try begin().commit([PostgresStatement(engine.statements.noteWriter, [.int8(id)])]) } catch {
            _ = loseConnection(error, [])
        }
    }

    /// Creates the partitions that a write missed. Returns true on success.
    func makePartitions() -> Bool {
        guard let connection else { return false }
        let setup = DatabaseSetup(connection, engine: engine, deadline: .now + engine.options.transactionTime)
        do {
            try setup.makePartitions()
            return true
        } catch {
            _ = try? connection.run([PostgresStatement("ROLLBACK")], deadline: .now + engine.options.lockTime)
            return false
        }
    }

    // MARK: Trouble

    /// Drops the connection after an error that concerns more than one write. Returns the writes' results.
    func loseConnection(_ failure: WriteFailure, _ writes: ArraySlice<Write>) -> [Completion] {
        connection = nil
        engine.count { $0.connectionsLost += 1 }
        let reason = StoreError(failure.error, at: engine.place)
        if failure.isUnknown {
            engine.noteInDoubt(Array(writes), of: index)
            // It may be committed: others receive the news after a reconnection.
            for case .append(let batch, _) in writes.lazy.map(\.work) { news.append(batch.session, batch.head) }
        }
        // A closed connection can often be reopened at once. A refusal by the database will repeat.
        if failure.error.extent == .connection || failure.error.state == PostgresError.otherPlace {
            nextAttempt = .now
            engine.logger.warning("A connection to the journal's database was lost.", metadata: ["reason": "\(reason)"])
        } else {
            beginTrouble(failure.error)
        }
        return writes.map { $0.fail(reason, failure.isUnknown) }
    }

    /// Notes that the database is not writable. Waiting writes are refused until an attempt succeeds.
    func beginTrouble(_ error: any Error) {
        connection = nil
        let trouble = StoreError(error, at: engine.place)
        // A full disk concerns all lanes, one after the other.
        let isNew = failedAttempts == 0 && !(trouble.code == .full && engine.isFull)
        if trouble.code == .full { lacksRoom = true }
        engine.noteTrouble(trouble, of: index)
        if isNew {
            engine.logger.error(
                "The journal is in trouble: nothing is stored until it recovers. The server retries by itself.",
                metadata: ["reason": "\(trouble)"])
        }
        failedAttempts += 1
        let options = engine.options
        let pause = min(options.firstRetry * (1 << min(failedAttempts - 1, 10)), options.lastRetry)
        // Many nodes must not reconnect in the same moment.
        nextAttempt = .now + pause * Double.random(in: 0.75...1.25)
    }

    /// Refuses all ready writes.
    func refuseAll() {
        // Others notice the changes when they compare their data with the database.
        if index == engine.newsLane { (_, news) = (engine.takeNews(), OutgoingNews()) }
        let trouble = engine.laneTrouble(index) ?? .journalClosed
        let writes = deferred.takeAll() + engine.takeAll(index)
        guard !writes.isEmpty else { return }
        answer(writes, with: writes.map { $0.value.fail(trouble, false) })
    }
}

extension PostgresEngine {
    /// True if a lane found the disk full.
    fileprivate var isFull: Bool { lanes.contains { laneTrouble($0)?.code == .full } }
}
