import Testing

@testable import PostgresJournal

/// The plans of all statements in a database whose statistics are those of millions of sessions.
@Suite struct PlanTests {
    @Test func `no statement reads or sorts a table that grows, and the check notices those that do`() async throws {
        let database = try await PlannedDatabase()
        try database.forgetPlans()
        try await database.work()
        let plans = try database.plans()
        for (name, text) in database.named where !plans.contains(where: { $0.text.contains(text) }) {
            Issue.record("the statement \(name) was not planned")
        }
        #expect(Set(plans.flatMap(\.faults)) == [])

        // Statements that the journal had: they search for rows without a session, and sort all tombstones.
        try database.forgetPlans()
        for former in [
            "SELECT DISTINCT session FROM @.receipts AS r WHERE NOT EXISTS (SELECT FROM @.heads WHERE key = session) LIMIT 64",
            "DELETE FROM @.tokens WHERE token = ANY (ARRAY(SELECT token FROM @.tokens ORDER BY until DESC, token OFFSET 9999))",
        ] {
            try await database.schema.run(former)
            #expect(try database.plans().contains { !$0.faults.isEmpty }, "\(former)")
            try database.forgetPlans()
        }
        let mutants = [
            ("sessions_used_briefly", "noted::numeric - created <="), ("tokens_by_end", "ORDER BY until DESC"),
            ("receipts_by_session", "receipts AS r USING"), ("sessions_of_subjects", "AND subject IS NOT NULL"),
            ("sessions_by_space", "s.space"), ("sessions_by_class", "NOT reminded ORDER BY"),
            ("visits_by_subject", "sha256(v.subject)"), ("visits_forgotten", "WHERE v.forgotten"),
            ("visits_by_visitor", "o.visitor = s.id"), ("visits_by_use", "AND seen <"),
            ("heard_by_time", "heard WHERE time <"),
        ]
        for (index, _) in mutants { try await database.schema.run("DROP INDEX @.\(index)") }
        try await database.work()
        let faults = try database.plans().flatMap(\.faults)
        for (index, text) in mutants where !faults.contains(where: { $0.contains(text) }) {
            Issue.record("the lack of \(index) is not noticed")
        }
    }
}
