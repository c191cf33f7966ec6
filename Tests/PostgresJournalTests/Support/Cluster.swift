import Locking
import PostgreSQL
import TestSupport
import Testing

@testable import PostgresJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A PostgreSQL server for the tests in a temporary folder, with a socket there and no port.
///
/// It runs as the user `nobody` if the tests run as root, whom PostgreSQL refuses. It ends with the process, however
/// that ends: a shell, which ignores signals, waits for the end of a socket that only this process has, and then stops
/// the server and removes the folder.
final class Cluster: Sendable {
    /// The server that tests share: each test has its own schema.
    static let shared = Task { try await make() }

    let folder: String
    /// The end of the socket that keeps the shell waiting. No other process inherits it.
    private let end: Int32

    /// Creates and starts a server. Waits for PostgreSQL's programs run on a separate thread, since tests have only one
    /// thread for each core.
    static func make(settings: String = "") async throws -> Cluster {
        try await offThePool { try Cluster(settings: settings) }
    }

    private init(settings: String) throws {
        folder = "/tmp/mvi-postgres-\(UInt64.random(in: 0 ... .max))"
        var ends: [Int32] = [0, 0]
        // Closed to other programs at once: a server that was started meanwhile would keep it open.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        end = ends[1]
        try run(
            """
            set -e
            mkdir -m 0755 \(folder)
            [ "$(id -u)" != 0 ] || chown nobody \(folder)
            $as $bin/initdb -D \(folder)/data -U mvi -A trust -E UTF8 --locale=C --no-sync
            cat >>\(folder)/data/postgresql.conf <<SETTINGS
            listen_addresses = ''
            unix_socket_directories = '\(folder)'
            max_connections = 250
            shared_buffers = 64MB
            fsync = off
            \(settings)
            SETTINGS
            """)
        _ = try Self.spawn(
            "trap '' HUP INT TERM; exec >/dev/null 2>&1; cat; kill $(cat \(folder)/pooler/pid); $as $bin/pg_ctl -D \(folder)/data -m immediate stop; rm -rf \(folder)",
            input: ends[0])
        close(ends[0])
        try begin()
    }

    /// Debian has the server's programs in a folder for each version, outside the path.
    private static let prelude = """
        bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
        [ -n "$bin" ] || bin=$(dirname "$(command -v initdb)")
        as=; [ "$(id -u)" != 0 ] || as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
        cd /

        """

    /// A URL of it.
    func url(user: String = "mvi") -> String { "postgres:///postgres?host=\(folder)&user=\(user)" }

    func start() async throws { try await offThePool { [self] in try begin() } }

    private func begin() throws {
        try run("$as $bin/pg_ctl -D \(folder)/data -l \(folder)/log -w -t 60 start || { cat \(folder)/log; exit 1; }")
    }

    /// Starts a pooler that gives each transaction to any of a few server processes. Returns its URL. It ends with the
    /// server.
    func startPooler() async throws -> String {
        try await offThePool { [self] in
            try run(
                """
                set -e
                mkdir -m 0755 \(folder)/pooler
                cat >\(folder)/pooler/settings <<SETTINGS
                [databases]
                postgres = host=\(folder) user=mvi
                [pgbouncer]
                pool_mode = transaction
                default_pool_size = 4
                listen_addr =
                unix_socket_dir = \(folder)/pooler
                auth_type = any
                logfile = \(folder)/pooler/log
                pidfile = \(folder)/pooler/pid
                SETTINGS
                [ "$(id -u)" != 0 ] || chown -R nobody \(folder)/pooler
                PATH=$PATH:/usr/sbin $as pgbouncer -q -d \(folder)/pooler/settings
                # It goes into the background before it listens.
                for _ in $(seq 600); do [ -S \(folder)/pooler/.s.PGSQL.6432 ] && exit 0; sleep 0.1; done
                exit 1
                """)
        }
        return "postgres:///postgres?host=\(folder)/pooler&port=6432&user=mvi"
    }

    /// - Parameter mode: `fast` ends connections in order, `immediate` like a crash.
    func stop(_ mode: String = "immediate") async throws {
        try await offThePool { [self] in try run("$as $bin/pg_ctl -D \(folder)/data -m \(mode) -w stop") }
    }

    /// Keeps a copy of its files, between two commits.
    func copyFiles() async throws {
        try await stop("fast")
        try await offThePool { [self] in try run("cp -a \(folder)/data \(folder)/copy") }
        try await start()
    }

    /// Puts the copy back, like a provider's snapshot of a volume.
    func putFilesBack() async throws {
        try await stop()
        try await offThePool { [self] in try run("rm -rf \(folder)/data && cp -a \(folder)/copy \(folder)/data") }
        try await start()
    }

    /// Runs commands. Their output goes into a file, since the server would keep a pipe open.
    private func run(_ script: String) throws {
        let output = "\(folder).out"
        let process = try Self.spawn("exec >\(output) 2>&1\n" + script, input: nil)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 { try #require(errno == EINTR) }
        defer { unlink(output) }
        guard status == 0 else { throw ClusterFailure(text: text(of: output)) }
    }

    /// Starts a shell. Foundation's `Process` waits for all started processes, including the server.
    private static func spawn(_ script: String, input: Int32?) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = ["sh", "-c", prelude + script].map { (text: String) in
            strdup(text)
        }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var process: pid_t = 0
        try #require(posix_spawn(&process, "/bin/sh", &actions, nil, arguments, environ) == 0)
        return process
    }

    private func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        return String(decoding: buffer.prefix(fread(&buffer, 1, buffer.count, file)), as: UTF8.self)
    }

    /// Runs one statement with the rights of the server's owner.
    @discardableResult
    func run(_ sql: String, _ values: [PostgresValue] = []) async throws -> PostgresRows {
        let target = try #require(ConnectionTarget(url(), applicationName: "test"))
        return try await offThePool {
            let connection = try PostgresConnection(target, deadline: .now + .seconds(30))
            return try connection.run([PostgresStatement(sql, values)], deadline: .now + .seconds(30)).rows[0]
        }
    }
}

/// PostgreSQL's programs are missing or do not work.
struct ClusterFailure: Error, CustomStringConvertible {
    let text: String

    var description: String { "There is no PostgreSQL for the tests (script/bootstrap installs it): \(text)" }
}
