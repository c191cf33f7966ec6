import MVI
import PostgreSQL
import SessionJournal

/// A journal in PostgreSQL as tools look at it. Each call makes a connection.
public struct PostgresJournalDatabase: JournalInspection {
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

    public func sessions(after session: SessionKey? = nil, limit: Int) throws(StoreError) -> [SessionOverview] {
        try read([SessionReads.list(sql, after: session, limit: limit)]) { results in
            try results.first?.map { try $0.overview() } ?? []
        }
    }

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
