#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

import Locking
import Logging
import MVI
import ServiceLifecycle
import TestSupport
import Testing

@testable import MVIServer

@Suite("Secrets are in no output", .timeLimit(.minutes(5)))
struct SecretTests {
    /// Secrets that are passed to a server and must not appear in its output.
    private static let (token, jwt) = ("An-admin-token-012345", "A-shared-secret-of-an-issuer-0123456789")
    private static let (password, listen) = ("S3cretPassw0rd", "0therPassw0rd")
    private static let secrets = [token, jwt, password, listen]
    private static let (journal, news) = (
        "postgres://mvi:\(password)@127.0.0.1:1/mvi", "postgres://mvi:\(listen)@127.0.0.1:1/mvi?connect_timeout=1"
    )

    /// Returns the output of a server whose port is in use: it ends after its services have started.
    private func output(_ variables: [String: String], _ arguments: [String]) async throws -> String {
        let (port, folder) = (try LoopbackPort(isTaken: true), try TemporaryFolder())
        let env = try #require(Tool("env"))
        let settings = variables.map { "\($0.key)=\($0.value)" }
        let (code, text) = try await env.output(
            settings + [
                Tool.built("mvi-server").path, "--port", "\(port.number)", "--admin-port", "0", "--data", folder.path,
                "--log-level", "trace", "--access-log", "--jwt-issuer", "i", "--jwt-audience", "a",
            ] + arguments)
        withExtendedLifetime((port, folder)) {}
        #expect(code == 1)
        #expect(text.contains("cannot serve: Cannot bind"))
        #expect(text.contains("requests and streams"), "no service was logged")
        return text
    }

    @Test func `the inspector's link is in a file for its owner, and in no log`() async throws {
        let folder = try TemporaryFolder()
        let victim = "\(folder.path)/victim"
        let data = try folder.folder("data")
        try #require(symlink(victim, "\(data)/inspector-link") == 0)
        let script = #"""
            set -euo pipefail
            : >log
            mvi-server --port 0 --admin-port 0 --inspector shapes --data data >>log 2>&1 & server=$!
            trap 'kill $server 2>/dev/null || true; wait' EXIT
            until grep -q 'Serving on' log; do kill -0 $server || { cat log; exit 1; }; done
            grep -q 'inspector-link-file=[^ ]*data/inspector-link' log
            ! grep -qE '#(token|code)=' log
            [[ $(stat -c %a data/inspector-link) == 600 && ! -e victim ]]
            link=$(cat data/inspector-link)
            [[ $link == http://127.0.0.1:*/admin/inspector#code=* ]]
            port=${link%/admin/*}
            exchange() { curl -s -X POST -H "Authorization: Bearer ${link#*#code=}" "$port/admin/inspector/token"; }
            token=$(exchange | sed 's/.*"token":"\([^"]*\)".*/\1/')
            [[ ! -e data/inspector-link ]]
            curl -sf -o /dev/null -H "Authorization: Bearer $token" "$port/admin/sessions"
            exchange | grep -q 'admin-unauthorized'
            [[ $(curl -s -X POST "$port/admin/inspector/link") == *data/inspector-link* ]]
            [[ $(stat -c %a data/inspector-link) == 600 && $(cat data/inspector-link) != "$link" ]]
            ! grep -qE "code=|$token" log
            """#
        let (code, text) = try await Tool.bash.output([
            "-c", "PATH=\(Tool.folder):$PATH\ncd \(folder.path)\n\(script)",
        ])
        #expect(code == 0, "\(text)")
    }

    @Test("a server with secrets in variables shows none at any level", arguments: ["text", "json"])
    func variables(_ format: String) async throws {
        let text = try await output(
            [
                "MVI_ADMIN_TOKEN": Self.token, "MVI_JWT_SECRET": Self.jwt, "MVI_JOURNAL": Self.journal,
                "MVI_JOURNAL_LISTEN": Self.news,
            ], ["--log-format", format])
        for secret in Self.secrets { #expect(!text.contains(secret)) }
        #expect(!text.contains("given in a flag"))
    }

    @Test("a server with secrets in flags shows none, and warns")
    func flags() async throws {
        let text = try await output(
            [:],
            [
                "--admin-token", Self.token, "--jwt-secret=\(Self.jwt)", "--journal", Self.journal, "--journal-listen",
                Self.news,
            ])
        for secret in Self.secrets { #expect(!text.contains(secret)) }
        let warnings = text.split(separator: "\n").filter { $0.contains("given in a flag") }
        #expect(warnings.count == 4)
        for (flag, warning) in zip(["admin-token", "journal", "journal-listen", "jwt-secret"], warnings) {
            #expect(
                warning.contains("warning") && warning.contains("flag=--\(flag) ")
                    && warning.contains("instead=--\(flag)-file"))
        }
    }

    @Test("a server with secrets in files shows none, without a warning")
    func files() async throws {
        let folder = try TemporaryFolder()
        var arguments: [String] = []
        for (flag, secret) in [
            ("admin-token", Self.token), ("jwt-secret", Self.jwt), ("journal", Self.journal),
            ("journal-listen", Self.news),
        ] {
            let path = "\(folder.path)/\(flag)"
            try secret.write(toFile: path)
            arguments += ["--\(flag)-file", path]
        }
        let text = try await output([:], arguments)
        for secret in Self.secrets { #expect(!text.contains(secret)) }
        #expect(!text.contains("given in a flag"))
    }

    /// A service of an author.
    private struct Payments: Service {
        struct Account: Sendable { let password: String }

        let key: String
        let account: Account

        func run() async throws { try? await gracefulShutdown() }
    }

    /// Keeps all lines, of every level.
    private struct Keeper: LogHandler {
        let lines: Lock<[String]>
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") } }
    }

    @Test("an author's service is logged by its type, without its content")
    func services() async throws {
        let (port, lines) = (try LoopbackPort(isTaken: true), Lock<[String]>([]))
        var logger = Logger(label: "test") { _ in Keeper(lines: lines) }
        logger.logLevel = .trace
        var settings = ServerSettings()
        (settings.port, settings.journal, settings.data) = (port.number, .memory, ":memory:")
        let service = Payments(key: "pk_live_0123456789", account: Payments.Account(password: "hunter22"))
        let server = FeatureServer(settings: settings, logger: logger, services: [service]) { LittleShop.Till() }
        await #expect(throws: (any Error).self) { try await server.run() }
        withExtendedLifetime(port) {}
        let text = lines.withLock { $0.joined(separator: "\n") }
        #expect(text.contains("Payments"))
        #expect(!text.contains("pk_live_0123456789") && !text.contains("hunter22"))
    }
}

extension String {
    /// Writes it into a new file.
    fileprivate func write(toFile path: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fputs(self, file) >= 0)
    }
}
