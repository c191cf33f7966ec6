import Logging
import PostgreSQL

extension DatabaseSetup {
    /// Logs the settings that allow the database to lose confirmed data: at opening, and when a later connection has
    /// other settings.
    static func noteDurability(of engine: PostgresEngine, run: (String) throws -> PostgresRows) throws {
        let names = losses.map { "'\($0.key)'" }.sorted().joined(separator: ", ")
        let rows = try run("SELECT name FROM unnest(ARRAY[\(names)]) AS name WHERE current_setting(name) = 'off'")
        let off = Set(try rows.map { try $0.text(0) })
        let before = engine.settingsOff.withLock { settings in
            defer { settings = off }
            return settings
        }
        for name in off.subtracting(before).sorted() {
            engine.logger.warning("PostgreSQL's \(name) is off for the journal: \(losses[name] ?? "").")
        }
        for name in before.subtracting(off).sorted() {
            engine.logger.notice("PostgreSQL's \(name) is on for the journal again.")
        }
    }

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
