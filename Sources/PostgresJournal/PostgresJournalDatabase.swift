import MVI
import PostgreSQL
import SessionJournal

/// A journal in PostgreSQL as tools look at it, beside servers that run or while none does.
///
/// Everything is only read. Its methods block; each call makes a connection and sees one moment.
public struct PostgresJournalDatabase: Sendable {
    private let target: ConnectionTarget
    private let sql: Statements

    /// The journal in a schema of a database; see `PostgresJournal.open` for the names.
    ///
    /// - Returns: nil if `database` is no text that libpq takes.
    public init?(database: String, schema: String = "mvi") {
        guard let target = ConnectionTarget(database, applicationName: "mvi-server tool") else { return nil }
        (self.target, sql) = (target, Statements(schema: schema))
    }

    /// Host, port, database, user and schema: no password.
    public var place: String { "\(target.description), schema \(sql.plainSchema)" }

    /// Sessions in the order in which they were made.
    ///
    /// - Parameter session: the last one of the call before; nil to begin.
    public func sessions(after session: SessionKey? = nil, limit: Int) throws(StoreError) -> [SessionOverview] {
        let statement = PostgresStatement(
            """
            SELECT s.key, s.id, s.created, h.seen, count(t.session), coalesce(sum(length(t.state) + length(t.view)), 0)::bigint
            FROM (SELECT key, id, created FROM \(sql.schema).sessions WHERE key > $1 ORDER BY key LIMIT $2) AS s
            JOIN \(sql.schema).heads AS h ON h.key = s.key
            LEFT JOIN \(sql.schema).stores AS t ON t.session = s.key
            GROUP BY s.key, s.id, s.created, h.seen ORDER BY s.key
            """, [.int8(session?.number ?? .min), .int8(Int64(max(0, limit)))])
        return try read([statement]) { results in
            try results.first?.map { row in
                SessionOverview(
                    key: try row.key(0), id: try row.text(1), created: try row.time(2), lastSeen: try row.time(3),
                    stores: Int(try row.int8(4)), bytes: Int(try row.int8(5)))
            } ?? []
        }
    }

    /// Everything that is kept of the session with a public id; nil if there is none.
    public func export(_ id: String) throws(StoreError) -> SessionExport? {
        let reads = SessionReads(sql, .id(id), .export)
        return try read(reads.statements) { results in try reads.results(results).export() }
    }

    private func read<Value>(
        _ statements: [PostgresStatement], _ body: (ArraySlice<PostgresRows>) throws -> Value
    ) throws(StoreError) -> Value {
        do {
            let deadline = ContinuousClock.now + .seconds(60)
            let connection = try PostgresConnection(target, deadline: .now + .seconds(10))
            let begin = PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            let results = try connection.run([begin] + statements + [PostgresStatement("COMMIT")], deadline: deadline)
            return try body(results.rows[1..<(results.rows.count - 1)])
        } catch {
            throw StoreError(error, at: place)
        }
    }
}
