import Foundation
import Locking
import MVI
import PostgreSQL
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// The delivery of news, and the behavior without it.
@Suite(.serialized) struct NewsTests {
    @Test func `the database probes a silent listener as it probes other clients`() async throws {
        let schema = try await TestSchema(
            in: Cluster.make(settings: "log_statement = 'all'\nlog_line_prefix = '%a: '"))
        let journal = try await schema.journal()
        let news = NewsKeeper(journal)
        await news.hearInterruption()
        let log = try String(contentsOfFile: "\(schema.cluster.folder)/log", encoding: .utf8)
        // A session's settings are visible to itself only.
        let lines = log.split(separator: "\n").filter { $0.hasPrefix("mvi-server listening: ") }
        let place = try #require(lines.firstIndex { $0.contains("LISTEN") }, "\(lines)")
        #expect(lines[..<place].contains { $0.contains("set_config('tcp_keepalives_idle', '5', false)") }, "\(lines)")
        await journal.close()
    }

    @Test func `news are heard again after the listening connection was killed, and after the server was restarted`()
        async throws
    {
        let schema = try await TestSchema(in: Cluster.make())
        let (one, other) = (try await schema.journal(), try await schema.journal())
        let news = NewsKeeper(other)
        await news.hearInterruption()
        let session = try await one.newSession()
        var turn = session.turn()
        #expect(await one.append(turn).isCommitted)
        await news.hear(turn)

        var place = news.count
        try await schema.cluster.run(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'mvi-server listening'
            """)
        await news.hearInterruption(from: place)
        turn = session.turn(after: turn.head, state: "2")
        #expect(await one.append(turn).isCommitted)
        await news.hear(turn)

        place = news.count
        try await schema.cluster.stop()
        try await schema.cluster.start()
        try await one.waitForTrouble(false)
        turn = session.turn(after: turn.head, state: "3")
        var result = AppendResult.conflict
        while !result.isCommitted {
            result = await one.append(turn)
            // The first append may detect the lost connection: reading tells the outcome.
            if result.isUnknown { result = .failed(StoreError(.unavailable, "")) }
            if result.isConflict { break }
        }
        await news.hearInterruption(from: place)
        // It receives news again.
        var head = try #require(try await one.news(session)).head
        let heard = Lock(false)
        let waiting = Task {
            await news.hear { [session] in
                if case .appended(let heads) = $0 { heads[session.key].map { $0.number > 3 } ?? false } else { false }
            }
            heard.withLock { $0 = true }
        }
        while !heard.withLock({ $0 }) {
            let next = session.turn(after: head, state: "4")
            if await one.append(next).isCommitted { head = next.head }
        }
        await waiting.value
        await one.close()
        await other.close()
    }

    @Test func `a journal that is closed while it listens ends, and hears nothing more`() async throws {
        let schema = try await TestSchema()
        let (one, other) = (try await schema.journal(), try await schema.journal())
        let news = NewsKeeper(other)
        await news.hearInterruption()
        await other.close()
        let count = news.count
        #expect(await one.append(try await one.newSession().turn()).isCommitted)
        // Listening does not reopen it.
        other.listen { _ in Issue.record("a closed journal told news") }
        await other.close()
        #expect(news.count == count)
        await one.close()
    }

    @Test func `the journal works through a transaction pooler, with news on a direct connection`()
        async throws
    {
        let schema = try await TestSchema(in: Cluster.make())
        let pooler = try await schema.cluster.startPooler()
        let direct = schema.cluster.url()
        let one = try await schema.journal(url: pooler) { $0.listenDatabase = direct }
        let other = try await schema.journal(url: pooler) { ($0.listenDatabase, $0.writers) = (direct, 4) }
        let news = NewsKeeper(other)
        await news.hearInterruption()
        let deadline = ContinuousClock.now + .seconds(60)
        try await withThrowingTaskGroup { group in
            for index in 0..<24 {
                let journal = index % 2 == 0 ? one : other
                let session = try await journal.newSession()
                group.addTask {
                    var client = Client(session)
                    for _ in 0..<20 { try await client.count(in: journal, until: deadline) }
                    try await client.expectAll(in: journal)
                    #expect(client.unknown == 0 && client.failed == 0)
                }
            }
            try await group.waitForAll()
        }
        let turn = try await one.newSession().turn()
        #expect(await one.append(turn).isCommitted)
        await news.hear(turn)
        let node = NodeRecord(id: .random(), address: "a")
        _ = try await awaitResult { one.join(node, done: $0) }.get()
        #expect(try await awaitResult { other.renew(node, done: $0) }.get()?.nodes.count == 1)
        #expect(
            try await awaitResult { other.noteStreams(1, of: turn.session, on: node.id, limit: 1, done: $0) }.get())
        #expect(try await awaitResult { one.orphans(limit: 5, done: $0) }.get() == [])
        #expect(one.trouble == nil && other.trouble == nil)
        await one.close()
        await other.close()
    }

    @Test func `if a pooler blocks news, an interruption is reported every few seconds and the log has the reason`()
        async throws
    {
        let schema = try await TestSchema(in: Cluster.make())
        let pooler = try await schema.cluster.startPooler()
        let log = LogKeeper()
        let journal = try await schema.journal(url: pooler, logger: log.logger) {
            ($0.heartbeatInterval, $0.heartbeatTime) = (.milliseconds(20), .milliseconds(100))
            $0.pollInterval = .milliseconds(20)
        }
        let news = NewsKeeper(journal)
        while news.interruptions() < 5 { await news.hearInterruption(from: news.count) }
        #expect(log.lines.contains { $0.contains("--journal-listen") })
        #expect(journal.figures.areNewsLate && journal.figures.newsDelays == 1)
        // The other connections are unaffected.
        #expect(await journal.append(try await journal.newSession().turn()).isCommitted)
        #expect(journal.trouble == nil)
        await journal.close()
    }

    @Test func `heartbeats arrive on a direct connection, and end an interruption`() async throws {
        let schema = try await TestSchema()
        let log = LogKeeper()
        // News are late at once, and in time with each heartbeat.
        let journal = try await schema.journal(logger: log.logger) {
            ($0.heartbeatInterval, $0.heartbeatTime, $0.pollInterval) = (.milliseconds(5), .zero, .milliseconds(20))
        }
        let news = NewsKeeper(journal)
        let deadline = ContinuousClock.now + .seconds(60)
        while !log.lines.contains(where: { $0.contains("arrives through the journal's database again") }) {
            try #require(ContinuousClock.now < deadline, "no heartbeat arrives")
            await news.hearInterruption(from: news.count)
        }
        await journal.close()
    }

    @Test func `a direct connection is no cause for a message in the log`() async throws {
        let schema = try await TestSchema()
        let log = LogKeeper()
        let journal = try await schema.journal(logger: log.logger) { $0.heartbeatInterval = .milliseconds(5) }
        let news = NewsKeeper(journal)
        await news.hearInterruption()
        let session = try await journal.newSession()
        var turn = session.turn()
        for count in 2...200 {
            #expect(await journal.append(turn).isCommitted)
            turn = session.turn(after: turn.head, state: "\(count)")
        }
        #expect(news.interruptions() == 1)
        // The tests' servers have it off.
        #expect(log.lines.allSatisfy { $0.contains("fsync is off") })
        await journal.close()
    }
}
