import Foundation
import MVI
import PostgreSQL
import SessionJournal
import Testing

@testable import PostgresJournal

/// A database whose server logs each statement's plan, with few rows and the statistics of five thousand times as many.
struct PlannedDatabase {
    let schema: TestSchema
    private let log: String

    /// The statement's text, and the parts of its plan that read more as a table grows.
    struct Plan {
        let text: String
        let faults: [String]
    }

    init() async throws {
        let cluster = try await Cluster.make(
            settings: """
                session_preload_libraries = 'auto_explain'
                auto_explain.log_min_duration = 0
                auto_explain.log_nested_statements = on
                auto_explain.log_format = json
                autovacuum = off
                """)
        schema = try await TestSchema(in: cluster)
        log = "\(cluster.folder)/log"
        await (try await schema.journal()).close()
        for table in Self.rows { try await schema.run("INSERT INTO @.\(table)") }
        try await schema.run("ANALYZE")
        try await schema.run(
            """
            UPDATE pg_class SET reltuples = reltuples * 5000
            WHERE relnamespace = '@'::regnamespace AND relkind IN ('r', 'i') AND reltuples >= 500
            """)
    }

    /// Two thousand sessions, a fifth of them signed in, and more tombstones.
    private static let rows = [
        """
        sessions (token, id, credential, created, noted, issuer, subject, shared, reminded)
        SELECT sha256(n::text::bytea), n::text::bytea, 'bearer', \(time), \(time) + 900000000000 * (n % 4),
            CASE WHEN n % 5 = 0 THEN 'issuer'::bytea END, CASE WHEN n % 5 = 0 THEN ('s' || n)::bytea END, n % 10 = 0, n % 9 = 0
        FROM generate_series(1, 2000) AS n
        """,
        """
        sessions (token, id, credential, created, noted, shared, space)
        SELECT sha256(('space:board:' || n)::bytea), ('b' || n)::bytea, 'bearer', \(time), \(time), false, 'board:' || n
        FROM generate_series(1, 2000) AS n
        """,
        """
        heads (key, seen, epoch, past, owner, fence_number, fence_nonce)
        SELECT key, noted, 'e', 0, o, o, o FROM @.sessions, LATERAL (SELECT CASE WHEN key % 7 = 0 THEN key % 3 END) AS c (o)
        """,
        "tokens (token, session) SELECT token, key FROM @.sessions",
        "tokens (token, until) SELECT sha256(('t' || n)::bytea), \(1 << 60) + n FROM generate_series(1, 4000) AS n",
        """
        credentials (session, number, token, kind, made, principal)
        SELECT key, 1, sha256(('c' || key)::bytea), 'bearer', 1, '' FROM @.sessions
        """,
        """
        stores (session, feature, number, version, made, replaced, schema, state, view)
        SELECT key, 'f' || n, 1, 1, 1, 0, 1, '1', '1' FROM @.sessions, generate_series(1, 2) AS n
        """,
        "reminders (session, feature, name, due, number, action) SELECT key, 'f1', 'a', \(1 << 60) + key, 1, '' FROM @.sessions",
        "recordings (session, number, feature, time, body) SELECT key, n, 'f1', 1, '' FROM @.sessions, generate_series(1, 2) AS n",
        "set_aside (session, feature, time, reason, schema, state) SELECT key, 'f1', 1, '', 1, '' FROM @.sessions",
        """
        labels (era, session, number, place, feature, version, expiry, written, json)
        SELECT era, key, n, 0, 'f1', 1, 1, true, '' FROM @.sessions, @.eras, generate_series(1, 2) AS n
        """,
        """
        receipts (era, session, hash, scope, name, number, made, intent, version, body_hash)
        SELECT era, key, hashint8extended(key + n, era), 'kf1', n::text::bytea, n, 1, 'i', 1, ''
        FROM @.sessions, @.eras, generate_series(1, 2) AS n
        """,
        """
        visits (session, visitor, seen, issuer, subject, forgotten)
        SELECT key, convert_to('v' || (key + 9 * n), 'UTF8'), \(time), CASE WHEN n % 2 = 0 THEN 'issuer'::bytea END,
            CASE WHEN n % 2 = 0 THEN ('s' || key)::bytea END, n = 2 AND key % 9 = 0
        FROM @.sessions, generate_series(1, 3) AS n WHERE space IS NOT NULL
        """,
        "streams (session, node, count) SELECT key, 1, 1 FROM @.sessions",
        "heard (session, sender, number, time) SELECT key, decode(md5('h' || n), 'hex'), n, \(time) + n FROM @.sessions, generate_series(1, 2) AS n",
        "forgotten (key, time, code) SELECT sha256(('f' || n)::bytea), 1, sha256('c') FROM generate_series(1, 600) AS n",
    ]
    private static let time = TestSession.start.nanoseconds

    /// The names and texts of the statements that `Statements` keeps.
    var named: [(name: String, text: String)] {
        Mirror(reflecting: Statements(schema: schema.name)).children.compactMap { child in
            guard let name = child.label, let text = child.value as? String else { return nil }
            return ["schema", "plainSchema", "place"].contains(name) ? nil : (name, text)
        }
    }

    // MARK: Plans

    /// Returns the plans since the last call.
    func plans() throws -> [Plan] {
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return try text.components(separatedBy: "plan:\n").dropFirst().map { part in
            // The lines of an entry begin with a tab.
            let lines = part.split(separator: "\n").prefix { $0.hasPrefix("\t") }.joined(separator: "\n")
            let entry = try JSONSerialization.jsonObject(with: Data(lines.utf8)) as? [String: Any]
            let text = try #require(entry?["Query Text"] as? String)
            let root = try #require(entry?["Plan"] as? [String: Any])
            return Plan(text: text, faults: Self.faults(of: root, text))
        }
    }

    func forgetPlans() throws { try Data().write(to: URL(fileURLWithPath: log)) }

    private static let growing: Set = [
        "sessions", "heads", "tokens", "credentials", "stores", "reminders", "recordings", "set_aside", "streams",
        "labels", "receipts", "forgotten", "visits",
        "heard",
    ]
    /// Statements that read much, with the reasons.
    private static let allowed = [
        // Maintenance, every ten minutes: reads at most as many rows as it says.
        "AS few",
        // Maintenance: deleted subjects are compared with the list outside the database. Few people delete their data.
        "SELECT key, time, code FROM",
        // Of due reminders only those with a claim are passed over: the last ones that each node claimed.
        "WITH due AS (",
        // Passes over the reminders that its own transaction claimed.
        "r.xmin <> pg_current_xact_id()",
    ]
    /// About what ten thousand rows by an index cost.
    private static let highestCost = 100_000.0
    private static let mostRows = 20_000.0

    private static func faults(of root: [String: Any], _ text: String) -> [String] {
        if allowed.contains(where: text.contains) { return [] }
        // The settings of a transaction add this for each scan of a table, such as `meta`.
        let cost = (root["Total Cost"] as? Double ?? 0).truncatingRemainder(dividingBy: 10_000_000_000)
        return (cost > highestCost ? ["costs \(cost): \(text)"] : [])
            + faults(in: root, isLimited: false).map { "\($0): \(text)" }
    }

    private static func faults(in node: [String: Any], isLimited: Bool) -> [String] {
        let kind = node["Node Type"] as? String ?? ""
        let table = node["Relation Name"] as? String ?? ""
        let rows = node["Plan Rows"] as? Double ?? 0
        var found: [String] = []
        if kind == "Seq Scan", growing.contains(table) || growing.contains(String(table.prefix { $0 != "_" })) {
            found.append("reads all \(table)")
        }
        if rows > mostRows, ["Sort", "Hash", "Materialize"].contains(kind) { found.append("\(kind) of \(rows) rows") }
        // How many it passes over is not known.
        if rows > mostRows, isLimited, node["Filter"] != nil { found.append("searches \(table)") }
        let children = node["Plans"] as? [[String: Any]] ?? []
        return found + children.flatMap { faults(in: $0, isLimited: isLimited || kind == "Limit") }
    }
}
