import Foundation
import MVI
import PostgreSQL
import TestSupport
import Testing

@testable import PostgresJournal

/// A server that requires passwords and TLS, as on a network.
@Suite(.serialized) struct EncryptionTests {
    private static let server = Task { try await TLSServer() }

    @Test func `the journal works with a password, a certificate of a known authority and the host's name`()
        async throws
    {
        let server = try await Self.server.value
        let log = LogKeeper()
        let schema = try await TestSchema(in: server.cluster)
        let journal = try await schema.journal(url: server.url(), logger: log.logger) {
            $0.listenDatabase = server.url()
        }
        #expect(journal.trouble == nil)
        let session = try await journal.newSession()
        #expect(await journal.append(session.turn()).isCommitted)
        let tool = try #require(PostgresJournalDatabase(database: server.url(), schema: schema.name))
        #expect(try await offThePool { try tool.sessions(limit: 5) }.map(\.id) == [session.record.id])
        let rows = try await offThePool {
            try server.run(
                "SELECT bool_and(ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'app'"
            )
        }
        let row = try #require(rows.first)
        #expect(try row.bool(0) && row.int8(1) >= 2)
        await journal.close()
        #expect(!log.lines.joined().contains(TLSServer.password))
    }

    @Test(arguments: [
        Refusal(
            change: ["password": "no-such-password"], reason: "password authentication failed",
            advice: "Check the user, and the password: in PGPASSWORD, in a password file, or in --journal-file."),
        Refusal(
            change: ["password": nil], reason: "no password supplied",
            advice: "Give the user's password: in PGPASSWORD, in a password file, or in --journal-file."),
        Refusal(
            change: ["host": "elsewhere.example"], reason: "does not match host name",
            advice: "Name the host as its certificate does, or give the server a certificate with this name."),
        Refusal(
            change: ["sslrootcert": "FOLDER/other.crt"], reason: "certificate verify failed",
            advice: "Name the certificate of the authority that signed the server's with sslrootcert."),
        Refusal(
            change: ["sslrootcert": "FOLDER/none.crt"], reason: "does not exist",
            advice: "Name the certificate of the authority that signed the server's with sslrootcert."),
        Refusal(
            change: ["sslmode": "disable"], reason: "no encryption",
            advice: "Ask for TLS with sslmode=verify-full, or allow this user from here in the server's pg_hba.conf."),
    ])
    func `a server that cannot be trusted, and a user whom it does not trust, are refused with what to do`(
        _ refusal: Refusal
    ) async throws {
        let server = try await Self.server.value
        let log = LogKeeper()
        let schema = try await TestSchema(in: server.cluster)
        let url = server.url(refusal.change)
        let journal = try await schema.journal(url: url, logger: log.logger)
        let trouble = try #require(journal.trouble?.description)
        #expect(trouble.contains(refusal.reason) && trouble.hasSuffix(refusal.advice), "\(trouble)")
        #expect(log.lines.contains { $0.contains(refusal.advice) })
        let tool = try #require(PostgresJournalDatabase(database: url, schema: schema.name))
        let error = await #expect(throws: StoreError.self) { try await offThePool { try tool.sessions(limit: 5) } }
        #expect(error?.description == trouble)
        await journal.close()
        for secret in [TLSServer.password, "no-such-password"] {
            #expect(!log.lines.joined().contains(secret) && !trouble.contains(secret))
        }
        // Nobody could connect.
        let rows = try await offThePool {
            try server.run("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema.name)'")
        }
        #expect(try rows.first?.int8(0) == 0)
    }
}

/// A failing connection: the changed part of the URL, and the message.
struct Refusal: Sendable, CustomTestStringConvertible {
    let change: [String: String?]
    let reason: String
    let advice: String

    var testDescription: String { reason }
}

/// A server on a port of 127.0.0.1 with a certificate for localhost, and two authorities, one of which signed it.
private struct TLSServer: Sendable {
    static let password = "correct-horse-battery"

    let cluster: Cluster
    private let port: LoopbackPort

    init() async throws {
        cluster = try await Cluster.make(settings: "password_encryption = 'scram-sha-256'")
        try await cluster.run("CREATE ROLE app LOGIN PASSWORD '\(Self.password)'")
        try await cluster.run("GRANT CREATE ON DATABASE postgres TO app")
        port = try LoopbackPort()
        let script = """
            set -e
            cd \(cluster.folder)
            for authority in ca other; do
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=$authority \
                    -keyout $authority.key -out $authority.crt
            done
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
                -addext subjectAltName=DNS:localhost -keyout server.key -out server.csr
            echo subjectAltName=DNS:localhost >names
            openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt
            chmod 600 server.key
            printf '%s\\n' 'local all mvi trust' 'hostssl all app 127.0.0.1/32 scram-sha-256' >data/pg_hba.conf
            printf '%s\\n' "listen_addresses = '127.0.0.1'" 'port = \(port.number)' 'ssl = on' \
                "ssl_cert_file = '\(cluster.folder)/server.crt'" "ssl_key_file = '\(cluster.folder)/server.key'" \
                >>data/postgresql.conf
            """
        // Run by the server's own user, who must own the key.
        let quoted = "{ \(script); } >/dev/null 2>&1".split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: "''")
        try await cluster.run("COPY (SELECT 1) TO PROGRAM '\(quoted)'")
        try await cluster.stop("fast")
        try await cluster.start()
    }

    /// Returns a correct URL with changes; nil omits a part.
    func url(_ change: [String: String?] = [:]) -> String {
        var parts: [String: String?] = [
            "host": "localhost", "hostaddr": "127.0.0.1", "port": "\(port.number)", "dbname": "postgres", "user": "app",
            "password": Self.password, "sslmode": "verify-full", "sslrootcert": "FOLDER/ca.crt",
            // Independent of the user who runs the tests.
            "passfile": "FOLDER/no-such-file", "sslcert": "FOLDER/no-such-file",
        ]
        for (name, value) in change { parts[name] = .some(value) }
        let pairs = parts.compactMap { name, value in
            value.map { "\(name)='\($0.replacingOccurrences(of: "FOLDER", with: cluster.folder))'" }
        }
        return pairs.joined(separator: " ")
    }

    /// Runs a statement as the server's owner, by the socket.
    func run(_ sql: String) throws -> PostgresRows {
        let target = try #require(ConnectionTarget(cluster.url() + "&port=\(port.number)", applicationName: "test"))
        let connection = try PostgresConnection(target, deadline: .now + .seconds(30))
        return try connection.run([PostgresStatement(sql)], deadline: .now + .seconds(30)).rows[0]
    }
}
