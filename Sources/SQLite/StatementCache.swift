/// A connection's compiled statements by their SQL. The least recently used is evicted if there are too many.
struct StatementCache {
    private struct Entry {
        let statement: Statement
        var lastUse: UInt64
    }

    let limit: Int
    private var entries: [String: Entry] = [:]
    private var uses: UInt64 = 0

    init(limit: Int) { self.limit = max(1, limit) }

    var count: Int { entries.count }

    /// Returns the cached statement for `sql`, or compiles it with `make`.
    mutating func statement(
        for sql: String, make: (String) throws(SQLiteError) -> Statement
    ) throws(SQLiteError) -> Statement {
        uses += 1
        if let index = entries.index(forKey: sql) {
            entries.values[index].lastUse = uses
            return entries.values[index].statement
        }
        let statement = try make(sql)
        if entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
            entries[oldest] = nil
        }
        entries[sql] = Entry(statement: statement, lastUse: uses)
        return statement
    }
}
