import CFaultyDisk
import JournalConformance
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The plans of all statements. They do not depend on the number of rows: a journal has no statistics.
@Suite struct PlanTests {
    /// Parts of statements that read or sort something as a whole, with the reasons.
    private static let allowed =
        [
            // Once after opening, since sessions and tombstones are counted from then on.
            "SELECT count(*) FROM sessions", "SELECT count(*) FROM tombstones",
            // One row.
            "SELECT session FROM garbage LIMIT 1",
            // The rows of one session.
            "WHERE session = ? AND number > ? ORDER BY number", "FROM reminders WHERE session = ?\nORDER BY",
            "FROM recordings WHERE id >= ?1 << 20",
            // A page of sessions, read in order.
            "FROM (SELECT key, id AS name",
            // Stops at the limit.
            "SELECT DISTINCT session FROM reminders",
            // One row, at the opening.
        ] + SQLiteSchema.tables.map { "SELECT 1 FROM \($0) LIMIT 1" }
    private static let growing: Set = [
        "sessions", "stores", "labels", "receipts", "recordings", "set_aside", "tombstones", "credentials", "reminders",
        "garbage", "forgotten", "visits",
        "heard",
    ]

    @Test func `no statement reads or sorts a table that grows, and the check notices missing indexes`() async throws {
        let folder = try TemporaryFolder()
        try #require(faulty_disk_note_statements(folder.path) == 0)
        // Races and large numbers bring no further statements.
        let checks = JournalCheck.all.filter { check in
            !["during", "eight", "many", "thousands"].contains(where: check.name.contains)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, check) in checks.enumerated() {
                if index >= 8 { try await group.next() }
                let path = "\(folder.path)/\(index)"
                try #require(mkdir(path, 0o700) == 0)
                let part = TemporaryFolder(at: path)
                group.addTask { try await check.run { try await part.journal() } }
            }
            try await group.waitForAll()
        }
        let texts = noted()
        #expect(texts.count > 80)
        let planned = try TemporaryFolder()
        await (try await planned.journal()).close()
        let faults = try faults(of: texts, in: planned.database)
        #expect(faults == [])

        // A statement that the journal had: it reads all reminders in the order of their sessions.
        let former = """
            UPDATE sessions SET reminded = 0 WHERE key IN (
                SELECT session FROM reminders CROSS JOIN sessions ON key = session WHERE due < ?1 AND reminded = 1
                GROUP BY session LIMIT ?2)
            """
        #expect(try !self.faults(of: [former], in: planned.database).isEmpty)

        var connection = try Connection(.file(planned.database))
        let mutants = [
            ("tombstones_by_end", "FROM tombstones WHERE until"), ("sessions_by_life", "WHERE life ="),
            ("sessions_by_subject", "WHERE subject ="), ("reminders_by_next", "FROM reminders"),
            ("sessions_by_space", "WHERE space ="), ("visits_by_subject", "visits.subject = ?"),
            ("visits_forgotten", "WHERE forgotten = 1"), ("visits_by_visitor", "WHERE visitor ="),
            ("visits_by_use", "FROM visits WHERE subject IS NULL"),
            ("heard_by_time", "FROM heard WHERE time"),
        ]
        for (index, _) in mutants { try connection.execute("DROP INDEX \(index)") }
        let found = try self.faults(of: texts, in: planned.database)
        for (index, text) in mutants where !found.contains(where: { $0.contains(text) }) {
            Issue.record("the lack of \(index) is not noticed")
        }
    }

    /// The journals' statements that read or write rows, without those of migrations.
    private func noted() -> [String] {
        var texts: [String] = []
        var index = 0
        while let text = faulty_disk_noted_statement(index).map({ String(cString: $0) }) {
            index += 1
            let kind = text.drop { $0.isWhitespace }.prefix { $0.isLetter }
            guard ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(kind) else { continue }
            if !SQLiteSchema.migrations.contains(where: { $0.contains(text) }) { texts.append(text) }
        }
        return texts
    }

    private func faults(of texts: [String], in database: String) throws -> [String] {
        var connection = try Connection(.file(database))
        return try texts.flatMap { text -> [String] in
            if Self.allowed.contains(where: text.contains) { return [] }
            let numbers = text.matches(of: /\?(\d*)/).map { Int($0.output.1) }
            let count = numbers.compactMap(\.self).max() ?? numbers.count
            let values = [SQLiteValue](repeating: .integer(1), count: count)
            let steps = try connection.query("EXPLAIN QUERY PLAN \(text)", values) { row in try row.text(3) }
            return steps.filter { step in
                let words = step.split(separator: " ")
                return step.hasPrefix("USE TEMP B-TREE")
                    || words.count > 1 && words[0] == "SCAN" && Self.growing.contains(String(words[1]))
            }
            .map { "\($0): \(text)" }
        }
    }
}
