import Logging
import MVI
import PostgreSQL
import SessionJournal

/// How a lane gets its connection, and what it does without one.
extension WriteLane {
    /// Connects for the first time. Throws what cannot get better by itself; all else is trouble.
    func openAtFirst() throws(JournalOpenError) {
        do { try open() } catch let error as JournalOpenError { throw error } catch { beginTrouble(error) }
    }

    /// Whether there is a connection now; tries to get one when it is time.
    func reopenIfDue() -> Bool {
        guard ContinuousClock.now >= nextAttempt else { return false }
        do { try open() } catch {
            beginTrouble(error)
            return false
        }
        if failedAttempts > 0 { engine.logger.notice("The journal's database works again.") }
        failedAttempts = 0
        return true
    }

    /// Connects, brings the schema up to date, and settles what an earlier connection may have left open.
    private func open() throws {
        connection = nil
        let options = engine.options
        let connection = try PostgresConnection(engine.target, deadline: .now + options.connectTime)
        engine.count { $0.connections += 1 }
        try DatabaseSetup(connection, engine: engine, deadline: .now + options.transactionTime).prepare()
        try settle(connection)
        self.connection = connection
        nextProbe = .now + options.probeInterval
        engine.endDoubt(of: index)
        tellNews()
        engine.noteTrouble(nil, of: index)
    }

    /// Commits a new generation of this lane. It ends a transaction of the last connection that is still running, waits for
    /// that, and one that was not begun yet fails: so what is read afterwards is certain. Being committed itself,
    /// synchronously if the database is set so, it shows that everything before it is as well.
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
            throw StoreError(.unavailable, "A newer connection of this process took this one's place.")
        }
    }

    /// The row that stands for the lane is of no use any more.
    func leave() {
        guard let connection else { return }
        _ = try? connection.run(
            [PostgresStatement(engine.statements.leave, [.int8(id)])], deadline: .now + engine.options.lockTime)
    }

    /// Shows that an idle connection and the database work.
    func probeIfDue() {
        guard ContinuousClock.now >= nextProbe else { return }
        nextProbe = .now + engine.options.probeInterval
        rowPatience = engine.options.lockTime
        do { _ = try begin().commit([PostgresStatement(engine.statements.noteWriter, [.int8(id)])]) } catch {
            _ = loseConnection(error, [])
        }
    }

    /// Makes the partitions that a write has missed; says whether it could.
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

    /// Gives the connection up after an error that ended it, or that is no single write's; returns the writes' results.
    func loseConnection(_ failure: WriteFailure, _ writes: ArraySlice<Write>) -> [Completion] {
        connection = nil
        engine.count { $0.connectionsLost += 1 }
        let reason = StoreError(failure.error, at: engine.place)
        if failure.isUnknown {
            engine.noteInDoubt(Array(writes), of: index)
            // It may be there: others are told when there is a connection again.
            for case .append(let batch, _) in writes.lazy.map(\.work) { news.append(batch.session, batch.head) }
        }
        // A connection that was closed may be had again at once. What is refused by the database will be refused again.
        if failure.error.extent == .connection || failure.error.state == PostgresError.otherPlace {
            nextAttempt = .now
            engine.logger.warning("A connection of the journal's was lost.", metadata: ["reason": "\(reason)"])
        } else {
            beginTrouble(failure.error)
        }
        return writes.map { $0.fail(reason, failure.isUnknown) }
    }

    /// Notes that the database cannot be written; what waits is refused until an attempt succeeds.
    func beginTrouble(_ error: any Error) {
        connection = nil
        let trouble = StoreError(error, at: engine.place)
        engine.noteTrouble(trouble, of: index)
        if failedAttempts == 0 {
            engine.logger.error(
                "The journal is in trouble: nothing is kept until it is over. It is tried again by itself.",
                metadata: ["reason": "\(trouble)"])
        }
        failedAttempts += 1
        let options = engine.options
        let pause = min(options.firstRetry * (1 << min(failedAttempts - 1, 10)), options.lastRetry)
        // Many nodes must not come back in one moment.
        nextAttempt = .now + pause * Double.random(in: 0.75...1.25)
    }

    /// Refuses all that is ready.
    func refuseAll() {
        // Others find it when they compare what they show with the database.
        if index == engine.newsLane { (_, news) = (engine.takeNews(), OutgoingNews()) }
        let trouble = engine.laneTrouble(index) ?? .journalClosed
        let writes = deferred.takeAll() + engine.takeAll(index)
        guard !writes.isEmpty else { return }
        answer(writes, with: writes.map { $0.value.fail(trouble, false) })
    }
}
