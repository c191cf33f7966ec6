import Logging
import SQLite

/// The demo's database and the thread that owns it.
struct DemoDatabase: Sendable {
    private let thread: DatabaseThread
    private let conditions: DemoConditions
    private let logger: Logger
    /// The keys that exist, so that an unknown key is refused without waiting. They never change: the demo adds no
    /// lessons or orders.
    let lessonIDs: Set<String>
    let orderIDs: Set<String>

    /// Opens the database. If it is new, creates and fills its tables. Blocks: call it at startup.
    ///
    /// - Throws: `SQLiteError`; `UnknownSchema` if another version of the demo wrote it.
    init(_ location: Connection.Location, conditions: DemoConditions, logger: Logger) throws {
        var connection = try Connection(location)
        if location != .memory {
            // Readers do not wait for the writer, and a commit does not wait for the disk: losing the last demo
            // clicks in a power cut is fine.
            try connection.script("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        }
        try DemoSchema.prepare(&connection)
        lessonIDs = Set(try connection.query("SELECT id FROM lessons") { row in try row.text(0) })
        orderIDs = Set(try connection.query("SELECT id FROM orders") { row in try row.text(0) })
        self.conditions = conditions
        self.logger = logger
        thread = try DatabaseThread(owning: connection)
    }

    /// Runs one call of a service: waits or fails as the conditions say, then runs `body` on the database's thread.
    func call<Value: Sendable>(
        _ name: StaticString, _ body: @escaping @Sendable (inout Connection) throws -> Value
    ) async throws -> Value {
        do {
            try await conditions.pass()
            return try await thread.perform(body)
        } catch {
            // The features show a sentence to people; the reason is for the operator.
            if !(error is CancellationError) {
                logger.warning("demo service failed", metadata: ["service": "\(name)", "error": "\(error)"])
            }
            throw error
        }
    }

    /// Runs the waiting calls and closes. Later calls fail.
    func close() async { await thread.close() }
}
