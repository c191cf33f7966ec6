import PostgreSQL

/// The error of a transaction that was not committed, or whose outcome is unknown.
struct WriteFailure: Error {
    let error: PostgresError
    /// True if it may be committed.
    let isUnknown: Bool
    /// False if nothing of the transaction was sent: the connection was closed while it was idle.
    var isBegun = true
}

/// A writing transaction on one writer's connection and thread. Its statements are sent in steps, each one pipeline;
/// the first begins it, and the last ends with `COMMIT`.
///
/// The transaction first locks its writer's row and checks the generation. After a lost connection, the next one
/// changes that row, which waits until the transaction has ended. Then its outcome is certain and can no longer change.
final class WriteTransaction {
    private let connection: PostgresConnection
    private let first: [PostgresStatement]
    private let deadline: ContinuousClock.Instant
    private(set) var isOpen = false
    private(set) var isCommitted = false
    private var position: LogPosition?
    /// News for other processes.
    var news = OutgoingNews()

    private let committed: (@Sendable (_ position: LogPosition) -> Void)?

    /// - Parameter committed: called after the commit with the log's position before it, whose columns in
    ///   `statement` begin with the second one; nil if that has none.
    init(
        _ connection: PostgresConnection, guardedBy statement: PostgresStatement, deadline: ContinuousClock.Instant,
        committed: (@Sendable (_ position: LogPosition) -> Void)? = nil
    ) {
        (self.connection, self.deadline, self.committed) = (connection, deadline, committed)
        // Overrides the database's defaults.
        first = [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), statement]
    }

    /// Runs statements that others will follow.
    func run(_ statements: [PostgresStatement]) throws(WriteFailure) -> [PostgresRows] {
        try run(statements, commits: false)
    }

    /// Runs the last statements and commits.
    func commit(_ statements: [PostgresStatement] = []) throws(WriteFailure) -> [PostgresRows] {
        let rows = try run(statements, commits: true)
        isCommitted = true
        return rows
    }

    /// Ends the transaction without storing anything.
    func rollBack() throws(WriteFailure) {
        guard isOpen, !isCommitted else { return }
        isOpen = false
        do { _ = try connection.run([PostgresStatement("ROLLBACK")], deadline: deadline) } catch {
            throw WriteFailure(error: error.error, isUnknown: false)
        }
    }

    private func run(_ statements: [PostgresStatement], commits: Bool) throws(WriteFailure) -> [PostgresRows] {
        let before = isOpen ? [] : first
        let all = before + statements + (commits ? [PostgresStatement("COMMIT")] : [])
        isOpen = true
        var results: [PostgresRows]
        let warnings: [String]
        do throws(PipelineFailure) {
            let result = try connection.run(all, deadline: deadline)
            (results, warnings) = (result.rows, result.warnings)
        } catch {
            // All statements were answered before the connection was lost.
            guard commits, error.completed.count == all.count else {
                throw WriteFailure(
                    error: error.error, isUnknown: commits && error.mayBeCommitted(count: all.count),
                    isBegun: before.isEmpty || error.isSent)
            }
            (results, warnings) = (error.completed, error.warnings)
        }
        if committed != nil, !before.isEmpty { position = try? results[1].first.map { row in try LogPosition(row, 1) } }
        guard commits else { return Array(results.dropFirst(before.count)) }
        isOpen = false
        let commit = results.removeLast()
        guard commit.command == "COMMIT" else {
            throw WriteFailure(
                error: PostgresError(state: nil, message: "The transaction was rolled back.", extent: .transaction),
                isUnknown: false)
        }
        // The wait for a standby was canceled: this commit may be lost with this server.
        // https://www.postgresql.org/docs/15/warm-standby.html#SYNCHRONOUS-REPLICATION
        if let warning = warnings.first(where: { $0 == "01000" || $0.hasPrefix("57P") }) {
            throw WriteFailure(
                error: PostgresError(
                    state: warning, message: "The wait for the synchronous standby was canceled.",
                    extent: .connection),
                isUnknown: true)
        }
        if let position { committed?(position) }
        return Array(results.dropFirst(before.count))
    }
}

extension PipelineFailure {
    /// True if a pipeline that ended with `COMMIT` may be committed.
    fileprivate func mayBeCommitted(count: Int) -> Bool {
        if !isSent { return false }
        // A server that reports an error of an earlier statement has not reached the last one, and will not.
        if error.state != nil, completed.count < count - 1 { return false }
        return error.extent == .connection
    }
}
