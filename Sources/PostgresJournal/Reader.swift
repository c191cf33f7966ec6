import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A thread that reads, with a connection of its own. Any reader takes any read.
final class Reader {
    private let engine: Engine
    private var connection: PostgresConnection?

    init(_ engine: Engine) { self.engine = engine }

    /// The thread's life.
    func run() {
        while let ((id, read), seen) = engine.nextRead() {
            read.run(self, seen)
            engine.finish([id], reads: 1)
        }
        connection = nil
        engine.threadEnded()
    }

    /// Reads in one transaction: its statements see one moment.
    func attempt<Value>(
        _ statements: [PostgresStatement], _ body: (ArraySlice<PostgresRows>) throws -> Value
    ) -> Result<Value, StoreError> {
        let isNew = connection == nil
        do { return .success(try read(statements, body)) } catch {
            // A connection that waited may be closed long ago.
            if !isNew, connection == nil, let again = try? read(statements, body) { return .success(again) }
            return .failure(StoreError(error, at: engine.place))
        }
    }

    private func read<Value>(
        _ statements: [PostgresStatement], _ body: (ArraySlice<PostgresRows>) throws -> Value
    ) throws -> Value {
        let options = engine.options
        if connection == nil {
            connection = try PostgresConnection(engine.target, deadline: .now + options.connectTime)
            engine.count { $0.connections += 1 }
        }
        guard let connection else { preconditionFailure("a connection that was made is there") }
        let begin = [
            PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
            PostgresStatement(
                engine.statements.limits,
                [
                    .milliseconds(options.statementTime), .milliseconds(options.lockTime),
                    .milliseconds(options.idleTransactionTime), .milliseconds(options.transactionTime),
                ]),
        ]
        let results: [PostgresRows]
        do throws(PipelineFailure) {
            results = try connection.run(
                begin + statements + [PostgresStatement("COMMIT")], deadline: .now + options.transactionTime
            ).rows
        } catch {
            if error.error.extent == .connection {
                self.connection = nil
                engine.count { $0.connectionsLost += 1 }
            } else if (try? connection.run([PostgresStatement("ROLLBACK")], deadline: .now + options.lockTime)) == nil {
                self.connection = nil
            }
            throw error
        }
        return try body(results[begin.count..<(results.count - 1)])
    }
}
