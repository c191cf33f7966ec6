import Logging
import PostgreSQL

extension DatabaseSetup {
    /// Logs the settings that allow the database to lose confirmed data: at opening, and when a later connection has
    /// other settings.
    static func noteDurability(of engine: PostgresEngine, run: (String) throws -> PostgresRows) throws {
        let names = losses.map { "'\($0.key)'" }.sorted().joined(separator: ", ")
        let rows = try run(
            """
            SELECT name, current_setting(name) FROM unnest(ARRAY[\(names)]) AS name
            WHERE current_setting(name) IN ('off', 'local')
            """)
        let found = Dictionary(try rows.map { (try $0.text(0), try $0.text(1)) }) { $1 }
        let before = engine.weakSettings.withLock { settings in
            defer { settings = found }
            return settings
        }
        for (name, value) in found.sorted(by: { $0.key < $1.key }) where before[name] != value {
            let loss = value == "local" ? lossOfLocal : losses[name] ?? ""
            engine.logger.warning("PostgreSQL's \(name) is \(value) for the journal: \(loss).")
        }
        for name in before.keys.sorted() where found[name] == nil {
            engine.logger.notice("PostgreSQL's \(name) is on for the journal again.")
        }
    }

    /// The possible loss if `synchronous_commit` is `local`, with advice.
    private static let lossOfLocal = """
        commits do not wait for a standby, so when one takes over, intents that were acknowledged may be lost. Set it to \
        on where it is set for the user or the database (ALTER ROLE or ALTER DATABASE … RESET synchronous_commit)
        """

    /// The possible loss if a setting is off, with advice.
    private static let losses = [
        "synchronous_commit": """
        when PostgreSQL or its machine crashes, intents of the last second that were acknowledged may be lost. Set it to \
        on in postgresql.conf, and where it is set for the user or the database (ALTER ROLE or ALTER DATABASE … RESET \
        synchronous_commit)
        """,
        "fsync": """
        when its machine crashes, all sessions may be lost, or the whole database. Set it to on in postgresql.conf, and \
        reload that
        """,
        "full_page_writes": """
        when its machine crashes, half-written pages may be lost with their contents. Set it to on in \
        postgresql.conf, and reload that; only a file system that writes whole pages does not need it
        """,
    ]
}
