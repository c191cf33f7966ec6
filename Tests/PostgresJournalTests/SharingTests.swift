import MVI
import PostgreSQL
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// Several servers on one database, of one version or two.
@Suite struct SharingTests {
    @Test func `of two servers that append to one session each turn is kept once, and the loser sees the winner's`()
        async throws
    {
        let schema = try await TestSchema()
        let journals = [try await schema.journal(), try await schema.journal()]
        let session = try await journals[0].newSession()
        #expect(await journals[0].append(session.turn(state: "0")).isCommitted)
        let conflicts = try await withThrowingTaskGroup(of: Int.self) { group in
            for journal in journals {
                group.addTask {
                    var (kept, conflicts) = (0, 0)
                    while kept < 50 {
                        let news = try #require(try await journal.news(session))
                        let state = news.changed.first.map { String(decoding: $0.state, as: UTF8.self) }
                        let count = try #require(state.flatMap { Int($0) })
                        let result = await journal.append(session.turn(after: news.head, state: "\(count + 1)"))
                        if result.isCommitted { kept += 1 } else { conflicts += 1 }
                        try #require(result.isCommitted || result.isConflict)
                    }
                    return conflicts
                }
            }
            return try await group.reduce(0, +)
        }
        _ = conflicts
        for journal in journals {
            let news = try #require(try await journal.news(session))
            #expect(news.head.number == 101)
            #expect(news.changed.map { String(decoding: $0.state, as: UTF8.self) } == ["100"])
            await journal.close()
        }
    }

    @Test func `an append that was committed is a conflict when it comes again, and changes nothing`() async throws {
        let schema = try await TestSchema()
        let (one, other) = (try await schema.journal(), try await schema.journal())
        let session = try await one.newSession()
        let turn = session.turn(labels: ["a"])
        #expect(await one.append(turn).isCommitted)
        #expect(await other.append(turn).isConflict)
        #expect(await one.append(turn).isConflict)
        #expect(try await one.news(session)?.labels.count == 1)
        await one.close()
        await other.close()
    }

    @Test func `many servers make the schema at the same time, once`() async throws {
        let schema = try await TestSchema()
        let journals = try await withThrowingTaskGroup(of: PostgresJournal.self) { group in
            for _ in 0..<6 { group.addTask { try await schema.journal { ($0.writers, $0.readers) = (1, 1) } } }
            return try await group.reduce(into: [PostgresJournal]()) { $0.append($1) }
        }
        for journal in journals {
            // Another one may still be creating the schema.
            while journal.trouble != nil { await Task.yield() }
            #expect(await journal.append(try await journal.newSession().turn()).isCommitted)
        }
        var secrets: Set<JournalSecret> = []
        for journal in journals { secrets.insert(try await awaitResultOf(journal)) }
        #expect(secrets.count == 1)
        for journal in journals { await journal.close() }
        #expect(try await schema.number("SELECT count(*) FROM @.writers") == 0)
    }

    private func awaitResultOf(_ journal: PostgresJournal) async throws -> JournalSecret {
        try await withCheckedThrowingContinuation { continuation in
            journal.secret { continuation.resume(with: $0) }
        }
    }

    @Test func `a server that is older than the schema says so and does not start`() async throws {
        let schema = try await TestSchema()
        await (try await schema.journal()).close()
        try await schema.run("UPDATE @.meta SET version = 99, minimum = 99")
        let error = await #expect(throws: JournalOpenError.self) { _ = try await schema.journal() }
        #expect(
            error?.description.contains("its schema is 99, this one knows \(PostgresSchema.migrations.count)") == true)
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == 99)
    }

    @Test func `a text that libpq cannot read is refused without being repeated`() async throws {
        let url = "postgres://user:hunter2@host:port:5/x?sslmode"
        let error = await #expect(throws: JournalOpenError.self) {
            _ = try await PostgresJournal.open(database: url, logger: LogKeeper().logger)
        }
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func `a password is in no message and no log line`() async throws {
        let log = LogKeeper()
        var options = PostgresOptions()
        options.connectTime = .seconds(2)
        let journal = try await PostgresJournal.open(
            database: "postgres://user:hunter2@127.0.0.1:1/x?password=hunter2", logger: log.logger, options: options)
        let trouble = try #require(journal.trouble)
        #expect(trouble.detail.contains("127.0.0.1") && !trouble.detail.contains("hunter2"))
        await journal.close()
        #expect(!log.lines.isEmpty && !log.lines.contains { $0.contains("hunter2") })
    }
}
