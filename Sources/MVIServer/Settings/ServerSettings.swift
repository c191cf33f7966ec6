import Logging
import MicroHTTP
import Sessions

/// The address, the clients and the limits of a server. Each property that is a ``Setting`` can be given as a flag, as an
/// environment variable and in a configuration file; `--help` of the server lists them.
public struct ServerSettings: Sendable {
    private static let limits = SessionLimits()

    /// Address to listen on.
    @Setting(
        "host", .host, "Address to listen on; :: for every interface, 0.0.0.0 for those with IPv4.",
        valueName: "address",
        heading: .listening)
    public var host: String = "127.0.0.1"

    /// Port to listen on; 0 for any free one.
    @Setting("port", .number(0...65_535), "Port to listen on; 0 for any free one.", valueName: "port")
    public var port: UInt16 = 8080

    /// The address of the admin port: health checks, metrics and administrators. Clients need no access to it.
    @Setting("admin-host", .host, "Address of the admin port.", valueName: "address")
    public var adminHost: String = "127.0.0.1"

    /// The admin port; nil for none. Health checks are answered on the main port as well, metrics are not.
    @Setting(
        "admin-port", .number(0...65_535),
        "Port for health checks, metrics and administrators, for a separate network. Without it the main port answers "
            + "only health checks.", valueName: "port")
    public var adminPort: UInt16?

    /// The token that administrators send to the admin port. Without one the port answers health checks and, on a
    /// loopback address, metrics.
    @Setting(
        "admin-token", .adminToken,
        "Token that administrators send as Authorization: Bearer. Without it the admin port answers health checks, and "
            + "metrics for this machine. Other users of the machine see flags: use --admin-token-file or the variable.",
        valueName: "text")
    public var adminToken: AdminToken?

    /// The inspector on the admin port: a page on which administrators look at recorded turns. Nil for none.
    @Setting(
        "inspector", .oneOf,
        "Serve a page that shows recorded turns at /admin/inspector: shapes shows the types of values, values the "
            + "users' data.", valueName: "what")
    public var inspector: Inspector?
    /// The inspector's own token, and the file with its link; nil if administrators have a token.
    var inspectorToken: String?
    var inspectorLink: InspectorLink?

    /// The host and port at which other nodes reach this one, such as `10.0.0.3:8080`. Nil for the address that the
    /// server listens on, or the machine's name if it listens on every interface.
    @Setting(
        "node-address", .nodeAddress,
        "Host and port at which other servers with the same PostgreSQL journal reach this one; by default the address "
            + "that it listens on, or the machine's name.", valueName: "address")
    public var nodeAddress: String?

    /// The number of threads that handle requests; one for each core.
    @Setting("threads", .number(1...256), "Threads that handle requests; one per core is right.")
    public var threads: Int = HTTPServerConfiguration().threads

    /// The file of a Unix socket to listen on too; nil for none. Its peers count as trusted proxies.
    @Setting(
        "unix-socket", .text,
        "File of a Unix socket to listen on too, for a proxy on this machine, which counts as a trusted one.",
        valueName: "file")
    public var unixSocket: String?

    /// The permissions of the Unix socket's file.
    @Setting(
        "unix-socket-mode", .fileMode, "Permissions of the Unix socket: programs that may write it may connect.",
        valueName: "mode")
    public var unixSocketMode: UInt32 = 0o660

    /// The address that browsers use for the server; nil to use `Host`. With `https` the cookie is `Secure`.
    @Setting(
        "public-url", .origin,
        "Address that browsers use, if a proxy is in front; with https, cookies are Secure.",
        valueName: "url", heading: .callers)
    public var publicURL: Origin?

    /// The origins of other sites whose pages may use the server.
    @Setting(
        "allowed-origins", .origins,
        "Origins of other sites whose pages may use the server, separated by commas.", valueName: "origins")
    public var allowedOrigins: [Origin] = []

    /// The proxies in front of the server that are trusted to report the client's address.
    @Setting(
        "trusted-proxy", .addresses,
        "Proxies in front, separated by commas, such as 127.0.0.1 or 10.0.0.0/8. They are trusted to report the "
            + "client's address in Forwarded or X-Forwarded-For.", valueName: "addresses")
    public var trustedProxies: [AddressRange] = []

    /// True if every session has to be somebody's: anonymous ones are refused.
    @Setting("require-identity", .flag, "Refuse anonymous sessions: clients have to sign in.")
    public var requireIdentity: Bool = false

    /// The header field in which trusted proxies name the signed-in subject; nil for none.
    @Setting(
        "identity-header", .text,
        "Header field in which a trusted proxy names the signed-in subject, such as X-Remote-User.", valueName: "field")
    public var identityHeader: String?

    /// The folder of the journal, created if it does not exist; `:memory:` for none.
    @Setting(
        "data", .text, "Folder of the journal, created if it does not exist; ':memory:' stores nothing.",
        valueName: "folder", heading: .keeping)
    public var data: String = "mvi-data"

    /// The journal.
    @Setting(
        "journal", .journal,
        "Journal that stores sessions: sqlite, so that they survive the process; memory; or a PostgreSQL database that "
            + "servers share, as a URL such as postgres://user@host/name, or postgres for the database of PGHOST etc. "
            + "Give a URL with a password in --journal-file or the variable.", valueName: "kind")
    public var journal: JournalKind = .sqlite

    /// The number of connections to PostgreSQL for writes; as many others read.
    @Setting(
        "journal-connections", .number(1...64), "Connections to PostgreSQL for writes; as many others read.")
    public var journalConnections: Int = 2

    /// The PostgreSQL schema of the journal's tables.
    @Setting(
        "journal-schema", .schemaName, "PostgreSQL schema of the journal's tables.", valueName: "name")
    public var journalSchema: String = "mvi"

    /// The database's URL for the connection that receives notifications of other servers. It must not go through a
    /// pooler in transaction mode. Nil for the journal's own URL. May contain a password.
    @Setting(
        "journal-listen", .postgresURL,
        "PostgreSQL's URL without a pooler, if --journal names one; for notifications of other servers.",
        valueName: "url")
    public var journalListen: String?

    /// True if a standby that takes over has every committed transaction. Sessions then keep their epochs after a
    /// failover.
    @Setting(
        "lossless-failover", .flag,
        "A standby of PostgreSQL that takes over has every committed transaction, so clients continue after a "
            + "failover. If this is not true, clients miss events. Do not set it for the first start after a restore.")
    public var losslessFailover: Bool = false

    /// This server's file of deleted subjects, outside the database of `journal`. What a restored database has of them is
    /// deleted again before the server is ready. Nil keeps none. A journal in a folder has its own.
    @Setting(
        "forgotten-list", .text,
        "File that lists deleted subjects, which a restored PostgreSQL forgets again; each server has its own.",
        valueName: "file")
    public var forgottenList: String?

    /// The time for which the SQLite journal collects the writes of several clients for one sync of the disk.
    @Setting(
        "commit-window", .time(.zero ... .seconds(1)),
        "Time for which the SQLite journal collects writes for one sync of the disk; 0 to sync each.")
    public var commitWindow: Duration = .milliseconds(1)

    /// The number of turns of a session that are recorded for `mvi-server export`; 0 records none.
    @Setting(
        "record-turns", .number(0...1_000_000),
        "Recorded turns of each session, for export as a test fixture; 0 records none.")
    public var recordedTurns: Int = 0

    /// The size of a session's recorded turns in bytes. The oldest ones beyond it are dropped.
    @Setting("record-bytes", .bytes(1_024...1 << 30), "Bytes of each session's recorded turns.")
    public var recordedBytes: Int = 1 << 20

    /// The time after which an unused store leaves memory.
    @Setting(
        "passivate-after", .time(.seconds(1) ... .seconds(24 * 3600)),
        "Time after which an unused store leaves memory.")
    public var passivateAfter: Duration = Self.limits.passivateAfter

    /// The maximal number of sessions in memory.
    @Setting(
        "max-sessions", .limit, "Sessions in memory; unused ones are evicted.", heading: .limits)
    public var maxSessions: Int = Self.limits.sessions

    /// The maximal number of stored sessions.
    @Setting("max-kept-sessions", .limit, "Stored sessions, in memory or not.")
    public var maxKeptSessions: Int = 1_000_000

    /// The maximal number of stored spaces, which shared stores have in place of a session.
    @Setting("max-spaces", .limit, "Stored spaces of shared stores, one for each key.")
    public var maxSpaces: Int = 100_000

    /// The maximal number of stores of a session. Beyond it, one that was not used for `sessionLife` gives way.
    @Setting("max-stores-per-session", .limit, "Feature instances per session.")
    public var maxStoresPerSession: Int = Self.limits.storesPerSession

    /// The maximal number of a session's stores that stay in memory without being in use, and that a stream may name.
    @Setting("max-loaded-stores", .limit, "Feature instances per session in memory; the least recently used leave it.")
    public var maxLoadedStores: Int = Self.limits.loadedStores

    /// The maximal number of streams.
    @Setting("max-streams", .limit, "Streams of the server.")
    public var maxStreams: Int = Self.limits.streams

    /// The maximal number of streams of a session; one more ends the oldest.
    @Setting("max-streams-per-session", .limit, "Streams per session; one more ends the oldest.")
    public var maxStreamsPerSession: Int = Self.limits.streamsPerSession

    /// The maximal number of connections, without streams.
    @Setting("max-connections", .limit, "Concurrent connections, without streams.")
    public var maxConnections: Int = 3_000

    /// The maximal number of connections of one address, without streams. Trusted proxies have no limit.
    @Setting("max-connections-per-address", .limit, "Connections per address, except of trusted proxies.")
    public var maxConnectionsPerAddress: Int = 1_000

    /// The maximal number of streams of one address.
    @Setting("max-streams-per-address", .limit, "Streams per address.")
    public var maxStreamsPerAddress: Int = 4_000

    /// The maximal number of receipts of a session.
    @Setting("max-receipts", .limit, "Receipts that a session stores.")
    public var maxReceipts: Int = Self.limits.receiptsPerSession

    /// The maximal size of a session's receipts.
    @Setting("receipt-bytes", .bytes(1_024...1 << 30), "Bytes of these receipts, approximately.")
    public var receiptBytes: Int = Self.limits.receiptBytes

    /// The maximal size of a session's outbox.
    @Setting(
        "outbox-bytes", .bytes(1_024...1 << 30), "Bytes of labels that a session stores for disconnected clients.")
    public var outboxBytes: Int = Self.limits.outboxBytes

    /// The maximal number of labels in a session's outbox.
    @Setting("outbox-labels", .limit, "Labels that a session stores for disconnected clients.")
    public var outboxLabels: Int = Self.limits.outboxLabels

    /// The maximal size of a state and of a view state.
    @Setting(
        "max-state-bytes", .bytes(1_024...1 << 30), "Bytes of one store's state, and of its view state.")
    public var maxStateBytes: Int = Self.limits.stateBytes

    /// The maximal number of waiting requests with `Prefer: wait`.
    @Setting("max-waits", .limit, "Requests with 'Prefer: wait' of the server.")
    public var maxWaits: Int = Self.limits.waits

    /// The maximal number of waiting requests with `Prefer: wait` of a session.
    @Setting("max-waits-per-session", .limit, "Requests with 'Prefer: wait' per session.")
    public var maxWaitsPerSession: Int = Self.limits.waitsPerSession

    /// The maximal number of a session's intents that wait for their turn.
    @Setting("max-queued-intents", .limit, "Waiting intents per session.")
    public var maxQueuedIntents: Int = Self.limits.queuedIntents

    /// The maximal size of a request's body.
    @Setting("body-limit", .bytes(1_024...1 << 30), "Bytes of a request's body.")
    public var bodyLimit: Int = 1024 * 1024

    /// The maximal size of the bodies of all requests together.
    @Setting("body-memory", .bytes(1_024...1 << 34), "Bytes of all requests' bodies together.")
    public var bodyMemory: Int = 64 * 1024 * 1024

    /// The rate of intents of a session, per second; 0 for no limit.
    @Setting(
        "intent-rate", .number(0...1_000_000),
        "Intents per second and session, with a burst of five seconds. 0 for no limit.")
    public var intentRate: Int = Self.limits.intentRate?.perSecond ?? 0

    /// The rate of new sessions of an address, per second; 0 for no limit.
    @Setting(
        "session-rate", .number(0...1_000_000),
        "New sessions per second and address, with a burst of half a minute. 0 for no limit.")
    public var sessionRate: Int = 10

    /// The maximal size of a request's head.
    @Setting("head-limit", .bytes(1_024...1 << 20), "Bytes of a request's head.")
    public var headLimit: Int = 16 * 1024

    /// The maximal time for which a request with `Prefer: wait` waits.
    @Setting(
        "max-wait-seconds", .time(.zero ... .seconds(50)), "Maximal time for 'Prefer: wait'.", heading: .times)
    public var maxWait: Duration = Self.limits.longestWait

    /// The lifetime of a session after its last request or stream.
    @Setting(
        "session-ttl", .time(.seconds(60) ... .seconds(366 * 24 * 3600)),
        "Lifetime of an anonymous session after its last request or stream.")
    public var sessionLife: Duration = Self.limits.sessionLife

    /// The lifetime of a signed-in client's credential after its last request or stream, and of a session that only it
    /// uses. Its client then has to sign in again.
    @Setting(
        "credential-ttl", .time(.seconds(60) ... .seconds(3660 * 24 * 3600)),
        "Lifetime of a signed-in client's access after its last request or stream.")
    public var credentialLife: Duration = Self.limits.credentialLife

    /// The lifetime of a session that a subject's devices share, after its last request or stream; 73,000 days if it has
    /// no end.
    @Setting(
        "subject-ttl", .time(.seconds(60) ... .seconds(3660 * 24 * 3600), forever: SessionLimits.forever),
        "Lifetime of a subject's shared session after its last request or stream, or forever.")
    public var subjectLife: Duration = Self.limits.subjectLife

    /// The time after which a silent stream gets a `ping`.
    @Setting(
        "heartbeat", .time(.seconds(1) ... .seconds(600)),
        "Time after which a silent stream gets a ping.")
    public var heartbeat: Duration = .seconds(15)

    /// The maximal age of a stream. It ends up to a fifth earlier, and its client reconnects. Zero for no limit.
    @Setting(
        "max-stream-age", .time(.zero ... .seconds(366 * 24 * 3600)),
        "Maximal age of a stream. It ends up to a fifth earlier, and its client reconnects. 0 for no limit.")
    public var maxStreamAge: Duration = .seconds(3600)

    /// The time from a request's first byte to the end of its head.
    @Setting(
        "head-timeout", .time(.seconds(1) ... .seconds(15)), "Time from a request's first byte to the end of its head.")
    public var headTimeout: Duration = .seconds(15)

    /// The time from the end of a request's head to the end of its body.
    @Setting("body-timeout", .time(.seconds(1) ... .seconds(600)), "Time from the end of a head to its body's end.")
    public var bodyTimeout: Duration = .seconds(30)

    /// The time for which a connection waits for its next request.
    @Setting(
        "idle-timeout", .time(.seconds(1) ... .seconds(600)), "Time for which a connection waits for a request.")
    public var idleTimeout: Duration = .seconds(75)

    /// The maximum duration of a shutdown.
    @Setting("grace", .time(.seconds(1) ... .seconds(600)), "Maximum time that the server takes to stop.")
    public var grace: Duration = .seconds(10)

    /// The log level.
    @Setting(
        "log-level", .oneOf,
        "Level of the log: trace, debug (every event of every feature), info, notice, warning, error, critical.",
        valueName: "level", heading: .running)
    public var logLevel: Logger.Level = .info

    /// The format of log lines.
    @Setting(
        "log-format", .oneOf, "Format of log lines: text, or json with one object per line.", valueName: "format")
    public var logFormat: LogFormat = .text

    /// True if each answer is logged.
    @Setting(
        "access-log", .flag, "Log each answer: the request, its client, the status and the duration.")
    public var accessLog: Bool = false

    /// The maximal number of bytes of a value in a log line; 0 hides values.
    @Setting("log-value-bytes", .bytes(0...1 << 20), "Bytes of a value in a log line; 0 hides values.")
    public var logValueBytes: Int = 200

    /// Reads the URL of `--journal-file` again, which may have a new password; nil if the URL is not from a file.
    package var rereadJournal: (@Sendable () throws -> String)? { Self.reread("journal", _journal.file) }

    /// Reads the URL of `--journal-listen-file` again; nil if the URL is not from a file.
    package var rereadJournalListen: (@Sendable () throws -> String)? {
        Self.reread("journal-listen", _journalListen.file)
    }

    private static func reread(_ name: String, _ path: String?) -> (@Sendable () throws -> String)? {
        guard let path else { return nil }
        return { () throws -> String in
            let text = try SettingsSource.text(inFile: path, of: name)
            if case .postgres(let url)? = SettingFormat<JournalKind>.journal.parse(text) { return url }
            let expected = "a file with \(SettingFormat<String>.postgresURL.expected)"
            throw SettingError(name: "\(name)-file", given: path, expected: expected)
        }
    }

    /// Creates the default settings.
    public init() {}
}
