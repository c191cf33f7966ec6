import Logging
import MicroHTTP
import Sessions

/// The address, the clients and the limits of a server. Each property that is a ``Setting`` can be given as a flag, as an
/// environment variable and in a configuration file; `--help` of the server lists them.
public struct ServerSettings: Sendable {
    private static let limits = SessionLimits()

    /// Address to listen on.
    @Setting(
        "host", .host, "Address to listen on; 0.0.0.0 or :: for every interface.", valueName: "address",
        heading: .listening)
    public var host: String = "127.0.0.1"

    /// Port to listen on; 0 for any free one.
    @Setting("port", .number(0...65_535), "Port to listen on; 0 for any free one.", valueName: "port")
    public var port: UInt16 = 8080

    /// Address for health checks, metrics and administrators, which clients do not see.
    @Setting("admin-host", .host, "Address of the admin port.", valueName: "address")
    public var adminHost: String = "127.0.0.1"

    /// Port for them; nil for none. Health is answered on the main port as well, metrics are not.
    @Setting(
        "admin-port", .number(0...65_535),
        "Port for health checks, metrics and administrators, for a network of its own; without it the main port "
            + "answers health checks, and the rest is not there.", valueName: "port")
    public var adminPort: UInt16?

    /// The token that administrators send to the admin port. Without one the port has health checks, and on a loopback
    /// address metrics.
    @Setting(
        "admin-token", .adminToken,
        "What administrators send as Authorization: Bearer. Without it the admin port has health checks, and metrics for "
            + "this machine. Other users of the machine see flags: use --admin-token-file, or the variable.",
        valueName: "text")
    public var adminToken: AdminToken?

    /// The host and port at which other nodes reach this one, such as `10.0.0.3:8080`; nil for those that it listens on, with
    /// the machine's name if it listens on every interface.
    @Setting(
        "node-address", .nodeAddress,
        "Host and port at which other servers with the same PostgreSQL journal reach this one; by default those that it "
            + "listens on, or the machine's name.", valueName: "address")
    public var nodeAddress: String?

    /// Threads that take requests; one for each core.
    @Setting("threads", .number(1...256), "Threads that take requests; as many as there are cores is right.")
    public var threads: Int = HTTPServerConfiguration().threads

    /// The address under which browsers reach the server; nil to go by `Host`. With `https` the cookie is for secure
    /// connections only.
    @Setting(
        "public-url", .origin,
        "Address under which browsers reach the server, if a proxy is in front; with https cookies are Secure.",
        valueName: "url", heading: .callers)
    public var publicURL: Origin?

    /// Origins of other sites' pages that may use the server.
    @Setting(
        "allowed-origins", .origins,
        "Origins whose pages may use the server from another site, with commas between them.", valueName: "origins")
    public var allowedOrigins: [Origin] = []

    /// Proxies in front, whose word is taken on where a request came from.
    @Setting(
        "trusted-proxy", .addresses,
        "Proxies in front, with commas between them, such as 127.0.0.1 or 10.0.0.0/8: what they say in Forwarded or "
            + "X-Forwarded-For of where a request came from counts.", valueName: "addresses")
    public var trustedProxies: [AddressRange] = []

    /// True if every session has to be somebody's: anonymous ones are refused.
    @Setting("require-identity", .flag, "Refuse anonymous sessions: somebody has to be signed in.")
    public var requireIdentity: Bool = false

    /// The header field by which trusted proxies name who is signed in; nil for none.
    @Setting(
        "identity-header", .text,
        "Header field by which a trusted proxy names who is signed in, such as X-Remote-User.", valueName: "field")
    public var identityHeader: String?

    /// The folder in which sessions are kept, made if it is not there; `:memory:` for none.
    @Setting(
        "data", .text, "Folder in which sessions are kept, made if it is not there; ':memory:' keeps nothing.",
        valueName: "folder", heading: .keeping)
    public var data: String = "mvi-data"

    /// The journal of sessions.
    @Setting(
        "journal", .journal,
        "What sessions are kept in: sqlite, so that they outlive the process; memory; or PostgreSQL, which servers "
            + "share: a URL such as postgres://user@host/name, or postgres for the database of PGHOST and the like. One "
            + "with a password belongs into --journal-file, or the variable.", valueName: "kind")
    public var journal: JournalKind = .sqlite

    /// The number of writing connections to PostgreSQL; as many read.
    @Setting(
        "journal-connections", .number(1...64), "Connections to PostgreSQL that write; as many others read.")
    public var journalConnections: Int = 2

    /// The name of the schema in PostgreSQL that the journal's tables are in.
    @Setting(
        "journal-schema", .schemaName, "Schema in PostgreSQL that the journal's tables are in.", valueName: "name")
    public var journalSchema: String = "mvi"

    /// The database's URL for the connection that hears news of other servers, which must not go through a pooler that gives
    /// each transaction to another of the database's processes; nil for the journal's own. May hold a password.
    @Setting(
        "journal-listen", .postgresURL,
        "PostgreSQL's URL without a pooler in between, where --journal names one: news of other servers are heard there.",
        valueName: "url")
    public var journalListen: String?

    /// True if a standby that takes over always has all that was committed: then a failover costs sessions no epoch.
    @Setting(
        "lossless-failover", .flag,
        "Says that a standby of PostgreSQL that takes over has all that was committed: clients go on then as if nothing had "
            + "happened, and miss nothing only if it is true. Not for the first start after a restore.")
    public var losslessFailover: Bool = false

    /// The time in which the SQLite journal gathers concurrent writes for one sync of the disk.
    @Setting(
        "commit-window", .time(.zero ... .seconds(1)),
        "How long the SQLite journal gathers what several clients write, for one sync of the disk; 0 not at all.")
    public var commitWindow: Duration = .milliseconds(1)

    /// The number of recorded turns per session for `mvi-server export`; 0 records none.
    @Setting(
        "record-turns", .number(0...1_000_000),
        "Turns that are recorded of each session, to be exported as a test's fixture; 0 records none.")
    public var recordedTurns: Int = 0

    /// A store that was not used for so long leaves memory.
    @Setting(
        "passivate-after", .time(.seconds(1) ... .seconds(24 * 3600)),
        "A store that was not used for so long leaves memory until it is needed.")
    public var passivateAfter: Duration = Self.limits.passivateAfter

    /// Sessions in all.
    @Setting(
        "max-sessions", .limit, "Sessions in memory; those that are not in use leave it.", heading: .limits)
    public var maxSessions: Int = Self.limits.sessions

    /// Sessions that are kept, in memory or not.
    @Setting("max-kept-sessions", .limit, "Sessions that are kept, in memory or not.")
    public var maxKeptSessions: Int = 1_000_000

    /// Stores a session.
    @Setting("max-stores-per-session", .limit, "Feature instances a session.")
    public var maxStoresPerSession: Int = Self.limits.storesPerSession

    /// Streams in all.
    @Setting("max-streams", .limit, "Streams in all.")
    public var maxStreams: Int = Self.limits.streams

    /// Streams a session; one more and the oldest goes.
    @Setting("max-streams-per-session", .limit, "Streams a session; one more and the oldest goes.")
    public var maxStreamsPerSession: Int = Self.limits.streamsPerSession

    /// Connections at once, streams not counted.
    @Setting("max-connections", .limit, "Connections at once, streams not counted.")
    public var maxConnections: Int = 3_000

    /// Connections of one address, streams not counted; those of trusted proxies have no bound.
    @Setting("max-connections-per-address", .limit, "Connections of one address that is no trusted proxy's.")
    public var maxConnectionsPerAddress: Int = 1_000

    /// Streams of one address.
    @Setting("max-streams-per-address", .limit, "Streams of one address.")
    public var maxStreamsPerAddress: Int = 4_000

    /// Idempotency keys that a session remembers.
    @Setting("max-receipts", .limit, "Idempotency keys that a session remembers.")
    public var maxReceipts: Int = Self.limits.receiptsPerSession

    /// Bytes of these.
    @Setting("receipt-bytes", .bytes(1_024...1 << 30), "Bytes of these, about as they take in memory.")
    public var receiptBytes: Int = Self.limits.receiptBytes

    /// Bytes of labels that a session keeps for clients that are away.
    @Setting(
        "outbox-bytes", .bytes(1_024...1 << 30), "Bytes of labels that a session keeps for clients that are away.")
    public var outboxBytes: Int = Self.limits.outboxBytes

    /// Labels that a session keeps for clients that are away.
    @Setting("outbox-labels", .limit, "Labels that a session keeps for clients that are away.")
    public var outboxLabels: Int = Self.limits.outboxLabels

    /// Bytes of one view state.
    @Setting(
        "max-state-bytes", .bytes(1_024...1 << 30), "Bytes of one feature's state, and of what clients see of it.")
    public var maxStateBytes: Int = Self.limits.stateBytes

    /// Requests with `Prefer: wait` in all.
    @Setting("max-waits", .limit, "Requests with 'Prefer: wait' in all.")
    public var maxWaits: Int = Self.limits.waits

    /// Requests with `Prefer: wait` a session.
    @Setting("max-waits-per-session", .limit, "Requests with 'Prefer: wait' a session.")
    public var maxWaitsPerSession: Int = Self.limits.waitsPerSession

    /// Intents of one session that wait for their turn.
    @Setting("max-queued-intents", .limit, "Intents of one session that wait for their turn.")
    public var maxQueuedIntents: Int = Self.limits.queuedIntents

    /// Bytes of a request's body.
    @Setting("body-limit", .bytes(1_024...1 << 30), "Bytes of a request's body.")
    public var bodyLimit: Int = 1024 * 1024

    /// Bytes that the bodies of all requests hold together.
    @Setting("body-memory", .bytes(1_024...1 << 34), "Bytes that the bodies of all requests hold together.")
    public var bodyMemory: Int = 64 * 1024 * 1024

    /// Intents a second of one session; 0 for no bound.
    @Setting(
        "intent-rate", .number(0...1_000_000),
        "Intents a second of one session, those of five seconds at once. 0 for no bound.")
    public var intentRate: Int = Self.limits.intentRate?.perSecond ?? 0

    /// New sessions a second of one address; 0 for no bound.
    @Setting(
        "session-rate", .number(0...1_000_000),
        "New sessions a second of one address, those of half a minute at once. 0 for no bound.")
    public var sessionRate: Int = 10

    /// Bytes of a request's head.
    @Setting("head-limit", .bytes(1_024...1 << 20), "Bytes of a request's head.")
    public var headLimit: Int = 16 * 1024

    /// The maximum wait of a request with `Prefer: wait`.
    @Setting(
        "max-wait-seconds", .time(.zero ... .seconds(50)), "How long 'Prefer: wait' waits at most.", heading: .times)
    public var maxWait: Duration = Self.limits.longestWait

    /// The lifetime of a session after its last request or stream.
    @Setting(
        "session-ttl", .time(.seconds(60) ... .seconds(366 * 24 * 3600)),
        "How long a session lives after its last request or stream.")
    public var sessionLife: Duration = Self.limits.sessionLife

    /// A stream on which nothing was written for so long gets a `ping`.
    @Setting(
        "heartbeat", .time(.seconds(1) ... .seconds(600)),
        "A stream on which nothing was written for so long gets a ping.")
    public var heartbeat: Duration = .seconds(20)

    /// A stream as old as this, or up to a fifth less, ends, and its client connects again; zero for no such age.
    @Setting(
        "max-stream-age", .time(.zero ... .seconds(366 * 24 * 3600)),
        "A stream ends at this age, or up to a fifth earlier, and its client connects again; 0 for never.")
    public var maxStreamAge: Duration = .seconds(3600)

    /// From a request's first byte to its head's end.
    @Setting(
        "head-timeout", .time(.seconds(1) ... .seconds(15)), "From a request's first byte to its head's end.")
    public var headTimeout: Duration = .seconds(15)

    /// From the head's end to the body's end.
    @Setting("body-timeout", .time(.seconds(1) ... .seconds(600)), "From a head's end to its body's end.")
    public var bodyTimeout: Duration = .seconds(30)

    /// The maximum time between requests of a connection.
    @Setting(
        "idle-timeout", .time(.seconds(1) ... .seconds(600)), "How long a connection may wait for its next request.")
    public var idleTimeout: Duration = .seconds(60)

    /// The maximum duration of a shutdown.
    @Setting("grace", .time(.seconds(1) ... .seconds(600)), "How long the server takes at most to stop.")
    public var grace: Duration = .seconds(10)

    /// The log level.
    @Setting(
        "log-level", .oneOf,
        "What is logged: trace, debug (every event of every feature), info, notice, warning, error, critical.",
        valueName: "level", heading: .running)
    public var logLevel: Logger.Level = .info

    /// The format of log lines.
    @Setting(
        "log-format", .oneOf, "How log lines look: text, or json with one object a line.", valueName: "format")
    public var logFormat: LogFormat = .text

    /// True if each answer is a line of the log.
    @Setting(
        "access-log", .flag, "Log each answer: who asked for what, what came of it, how long it took.")
    public var accessLog: Bool = false

    /// Bytes of a value that a log line shows; 0 hides values.
    @Setting("log-value-bytes", .bytes(0...1 << 20), "Bytes of a value that a log line shows; 0 hides values.")
    public var logValueBytes: Int = 200

    /// The defaults.
    public init() {}
}
