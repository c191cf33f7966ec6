import MVI
import SQLite
import SessionJournal

/// The thread that reads, with a connection of its own: a reader of the log never waits for its writer, nor the writer
/// for it.
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
            // The connection is gone with the error: the next read opens the file anew, which may be another by then.
            return .failure(StoreError(error, at: engine.files.database))
        }
    }

    private func open() throws -> Connection {
        try engine.files.check()
        let migrations = engine.options.migrations.count
        do {
            return try JournalDatabase.openForReading(engine.files, .readOnly, migrations: migrations)
        } catch let error as SQLiteError where error.code == .cannotOpen {
            // On a disk that may not be written there can be no index of the log. No other process writes either while
            // the writer cannot, and without a log all is in the database; when the writer can again, this is closed.
            guard engine.status.trouble != nil, (JournalFiles.size(of: engine.files.log) ?? 0) == 0 else { throw error }
            return try JournalDatabase.openForReading(engine.files, .immutable, migrations: migrations)
        }
    }
}
