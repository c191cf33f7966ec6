import Foundation
import PostgresServer
import TestSupport
import Testing

@testable import MVIServer
@testable import PostgresJournal

/// Passwords that change while a server runs.
@Suite struct PasswordTests {
    @Test func `a new password in the files of both URLs is used by the next connections, without a restart`()
        async throws
    {
        let cluster = try await Cluster.make(settings: "password_encryption = 'scram-sha-256'")
        try await cluster.run("CREATE ROLE app LOGIN PASSWORD 'one'")
        try await cluster.run("GRANT CREATE ON DATABASE postgres TO app")
        try await cluster.run("GRANT EXECUTE ON FUNCTION pg_control_system() TO app")
        let rules = "cat >/dev/null; printf ''%s\\n'' ''local all mvi trust'' ''local all app scram-sha-256''"
        try await cluster.run("COPY (SELECT 1) TO PROGRAM '\(rules) >\(cluster.folder)/data/pg_hba.conf'")
        try await cluster.run("SELECT pg_reload_conf()")
        // The new rules hold for connections of a server that has read them.
        try await cluster.stop("fast")
        try await cluster.start()
        let paths = ["journal", "listen"].map { "\(cluster.folder)/\($0)-url" }
        func write(_ password: String) throws {
            for path in paths {
                try Data("\(cluster.url(user: "app"))&passfile=/no/file&password=\(password)\n".utf8)
                    .write(to: URL(fileURLWithPath: path))
            }
        }
        /// Ends the connections, as a failover does.
        func disconnect() async throws {
            try await cluster.run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'app'")
        }
        try write("one")
        let settings = try ServerSettings.load(
            flags: ["journal-file": paths[0], "journal-listen-file": paths[1], "journal-connections": "1"],
            environment: [:])
        let log = LogKeeper()
        let journal = try #require(
            try await SharedStorage.postgres.journal(settings, log.logger) as? PostgresJournal)
        let news = NewsKeeper(journal)
        await news.hearInterruption()
        var client = Client(try await journal.newSession())
        try await client.count(in: journal, until: .now + .seconds(60))

        try await cluster.run("ALTER ROLE app PASSWORD 'two'")
        try write("two")
        try await disconnect()
        try await client.count(in: journal, until: .now + .seconds(60))
        let listening = "pg_stat_activity WHERE application_name = 'mvi-server listening'"
        let end = ContinuousClock.now + .seconds(60)
        while try await cluster.run("SELECT FROM \(listening)").rows.isEmpty {
            try #require(ContinuousClock.now < end, "the listener does not connect again")
        }
        #expect(!log.lines.joined().contains("password authentication failed"))

        // Without the file the last text is used, and an error names the file.
        for path in paths { try FileManager.default.removeItem(atPath: path) }
        try await disconnect()
        try await client.count(in: journal, until: .now + .seconds(60))
        try await cluster.run("ALTER ROLE app PASSWORD 'three'")
        try await disconnect()
        // The first trouble may be that a new connection was ended, too.
        let refused = ContinuousClock.now + .seconds(60)
        var trouble = ""
        while !trouble.contains("password authentication failed") {
            try #require(ContinuousClock.now < refused, "\(trouble)")
            await Task.yield()
            trouble = journal.trouble?.description ?? ""
        }
        #expect(trouble.contains("--journal-file cannot be '\(paths[0])'"), "\(trouble)")
        try write("three")
        try await journal.waitForTrouble(false)
        try await client.count(in: journal, until: .now + .seconds(60))
        #expect(client.kept == 4)
        try await client.expectAll(in: journal)
        await journal.close()
        for password in ["one", "two", "three"] { #expect(!log.lines.joined().contains("password=\(password)")) }
    }
}
