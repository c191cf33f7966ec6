import Dispatch
import Locking
import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A thread that maintains the schema on a new connection for each round, so that long work and waits for other
/// transactions delay no request. Several processes can do so at once.
final class Maintenance {
    let engine: PostgresEngine
    private var failures = 0

    init(_ engine: PostgresEngine) { self.engine = engine }

    /// The pause before a retry after an obstacle.
    private static let pause: Duration = .seconds(1)

    /// The thread's main function. Calls `opened` once with the result of opening. An outdated schema is no failure.
    func run(opened: (Result<Void, JournalOpenError>) -> Void) {
        var isFirst = true
        while !engine.isClosing {
            var next = Self.pause
            do {
                if try Migrator(engine.target, engine.options).migrate() {
                    let connection = try PostgresConnection(
                        engine.target, deadline: .now + engine.options.connectTime)
                    if !engine.appliedForgotten.withLock({ $0 }) {
                        try exchangeForgotten(connection)
                        engine.appliedForgotten.withLock { $0 = true }
                    }
                    failures = 0
                    engine.wakeWriters()
                    try prepare(connection)
                    // The rest may take minutes.
                    if isFirst { opened(.success(())) }
                    isFirst = false
                    lookAfter(connection)
                    next = engine.options.maintenanceInterval * Double.random(in: 0.9...1.1)
                } else {
                    waits()
                }
            } catch let error as JournalOpenError where isFirst {
                opened(.failure(error))
                engine.threadEnded()
                return
            } catch {
                next = min(engine.options.firstRetry * (1 << min(failures, 10)), engine.options.lastRetry)
                if failures == 0 { warn("The maintenance of the journal's schema failed and is retried.", error) }
                failures += 1
            }
            if isFirst { opened(.success(())) }
            isFirst = false
            engine.waitForMaintenance(atMost: next)
        }
        if isFirst { opened(.success(())) }
        engine.threadEnded()
    }

    /// Logs that another process migrates the schema or a transaction is in the way.
    private func waits() {
        if failures.isMultiple(of: 30) {
            engine.logger.notice(
                "The journal's schema is being updated by another server, or the update waits for a transaction that holds its tables; the server retries each second."
            )
        }
        failures += 1
    }

    private func warn(_ sentence: Logger.Message, _ error: any Error) {
        engine.logger.warning(sentence, metadata: ["reason": "\(StoreError(error, at: engine.place))"])
    }

    /// Does what a start waits for, however large the tables are.
    private func prepare(_ connection: PostgresConnection) throws {
        try DatabaseSetup(connection, engine: engine, deadline: .now + engine.options.transactionTime).makePartitions()
        try countSessions(connection)
    }

    private func lookAfter(_ connection: PostgresConnection) {
        for step in [
            dropPartitions, dropWriters, trimTombstones, deleteRemoved, lookAtTransactions, exchangeForgotten,
        ] {
            do { try step(connection) } catch {
                // A transaction blocks a partition: the next round retries.
                warn("A part of the journal's maintenance was deferred.", error)
                let end = ContinuousClock.now + engine.options.transactionTime
                guard (try? connection.run([PostgresStatement("ROLLBACK")], deadline: end)) != nil else { return }
            }
        }
    }

    // MARK: Other things

    /// Deletes the rows of writers whose processes are gone.
    private func dropWriters(_ connection: PostgresConnection) throws {
        _ = try run(
            connection, "DELETE FROM \(engine.statements.schema).writers WHERE seen < now() - interval '7 days'")
    }

    /// Counts small tables, and uses the database's estimate for large ones, since counting reads the whole table.
    private func countSessions(_ connection: PostgresConnection) throws {
        let table = "\(engine.statements.schema).sessions"
        let spaces = try run(
            connection,
            "SELECT count(*) FROM (SELECT FROM \(table) WHERE space IS NOT NULL LIMIT \(engine.options.spaceLimit)) AS few"
        )
        let spaceCount = Int(try spaces.first?.int8(0) ?? 0)
        engine.withSessions { $0.spaces = spaceCount }
        guard engine.options.sessionLimit < .max else { return }
        let few = try run(
            connection,
            "SELECT count(*) FROM (SELECT FROM \(table) LIMIT \(Self.countedSessions + spaceCount)) AS few")
        var count = Int(try few.first?.int8(0) ?? 0)
        if count == Self.countedSessions + spaceCount {
            let all = try run(
                connection, "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass($1)", [.text(table)])
            count = max(count, Int(try all.first?.int8(0) ?? 0))
        }
        engine.withSessions { $0.count = max(0, count - spaceCount) }
    }

    private static let countedSessions = 100_000

    private func lookAtTransactions(_ connection: PostgresConnection) throws {
        let row = try run(
            connection,
            """
            SELECT (extract(epoch FROM max(now() - xact_start)) * 1000)::bigint FROM pg_stat_activity
            WHERE backend_xmin IS NOT NULL OR backend_xid IS NOT NULL
            """)
        let age = try row.first?.optionalInt8(0).map { Duration.milliseconds($0) }
        engine.count { $0.oldestTransaction = age }
        guard let age, age > engine.options.oldTransaction else { return }
        engine.logger.warning(
            "An old transaction in the journal's database prevents the cleaning of its tables.",
            metadata: ["seconds": "\(age.components.seconds)"])
    }

    /// Runs a statement without a time limit.
    func run(
        _ connection: PostgresConnection, _ text: String, _ values: [PostgresValue] = []
    ) throws -> PostgresRows {
        try connection.run([PostgresStatement(text, values)], deadline: .now + .seconds(24 * 3600)).rows[0]
    }
}
