import MVI
import SQLite
import SessionJournal

/// The reading thread, with its own connection: in a write-ahead log readers and the writer never wait for each other.
final class SQLiteReader {
    private let engine: SQLiteEngine
    var connection: Connection?

    init(_ engine: SQLiteEngine) { self.engine = engine }

    func run() {
        while let (read, ticket) = engine.nextRead() { read.run(self, ticket) }
        connection = nil
        engine.readerEnded()
    }

    /// Reads in one transaction.
    func attempt<Value>(_ body: (inout Connection) throws -> Value) -> Result<Value, StoreError> {
        do {
            var connection = try connection.take() ?? open()
            let value = try connection.transaction(.deferred, body)
            self.connection = consume connection
            return .success(value)
        } catch {
            // Drops the connection: the next read reopens the file, which may be another one by then.
            return .failure(StoreError(error, at: engine.files.database))
        }
    }

    private func open() throws -> Connection {
        try engine.files.check()
        let migrations = engine.options.migrations.count
        do {
            return try JournalDatabase.openForReading(engine.files, .readOnly, migrations: migrations)
        } catch let error as SQLiteError where error.code == .cannotOpen {
            // A read-only disk allows no index of the log. No process writes while the writer is in trouble, and
            // without a log the database is complete. The connection is closed when the writer recovers.
            guard engine.status.trouble != nil, (JournalFiles.size(of: engine.files.log) ?? 0) == 0 else { throw error }
            return try JournalDatabase.openForReading(engine.files, .immutable, migrations: migrations)
        }
    }
}
