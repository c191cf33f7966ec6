import Logging
import MicroHTTP
import Sessions

/// How a server listens, whom it serves, and how much it bears. Each can be given as a flag, as an environment
/// variable and in a configuration file; `--help` of the server lists them.
public struct ServerSettings: Sendable {
    /// Address to listen on.
    public var host = "127.0.0.1"
    /// Port to listen on; 0 for any free one.
    public var port: UInt16 = 8080
    /// Address for health checks, metrics and administrators, which clients do not see.
    public var adminHost = "127.0.0.1"
    /// Port for them; nil for none. Health is answered on the main port as well, metrics are not.
    public var adminPort: UInt16?
    /// The token that administrators send to the admin port. Without one the port has health checks, and on a loopback
    /// address metrics.
    public var adminToken: AdminToken?
    /// The host and port at which other nodes reach this one, such as `10.0.0.3:8080`; nil for those that it listens on, with
    /// the machine's name if it listens on every interface.
    public var nodeAddress: String?
    /// Threads that take requests; one for each core.
    public var threads = HTTPServerConfiguration().threads

    /// The address under which browsers reach the server; nil to go by `Host`. With `https` the cookie is for secure
    /// connections only.
    public var publicURL: Origin?
    /// Origins of other sites' pages that may use the server.
    public var allowedOrigins: [Origin] = []

    /// Whether every session has to be somebody's: anonymous ones are refused.
    public var requireIdentity = false
    /// The header field by which trusted proxies name who is signed in; nil for none.
    public var identityHeader: String?

    /// Proxies in front, whose word is taken on where a request came from.
    public var trustedProxies: [AddressRange] = []

    /// The folder in which sessions are kept, made if it is not there; `:memory:` for none.
    public var data = "mvi-data"
    /// What sessions are kept in.
    public var journal = JournalKind.sqlite
    /// The database's URL for the connection that hears news of other servers, which must not go through a pooler that gives
    /// each transaction to another of the database's processes; nil for the journal's own. May hold a password.
    public var journalListen: String?
    /// How many connections to PostgreSQL write; as many others read.
    public var journalConnections = 2
    /// The name of the schema in PostgreSQL that the journal's tables are in.
    public var journalSchema = "mvi"
    /// Whether a standby that takes over always has all that was committed: then a failover costs sessions no epoch.
    public var losslessFailover = false
    /// How long the SQLite journal gathers what several clients write, for one sync of the disk.
    public var commitWindow: Duration = .milliseconds(1)
    /// How many turns of a session are recorded for `mvi-server export`; 0 records none.
    public var recordedTurns = 0
    /// A store that was not used for so long leaves memory.
    public var passivateAfter = Self.limits.passivateAfter

    private static let limits = SessionLimits()

    /// Sessions in all.
    public var maxSessions = Self.limits.sessions
    /// Sessions that are kept, in memory or not.
    public var maxKeptSessions = 1_000_000
    /// Stores a session.
    public var maxStoresPerSession = Self.limits.storesPerSession
    /// Streams in all.
    public var maxStreams = Self.limits.streams
    /// Streams a session; one more and the oldest goes.
    public var maxStreamsPerSession = Self.limits.streamsPerSession
    /// Connections at once, streams not counted.
    public var maxConnections = 3_000
    /// Connections of one address, streams not counted; those of trusted proxies have no bound.
    public var maxConnectionsPerAddress = 1_000
    /// Streams of one address.
    public var maxStreamsPerAddress = 4_000
    /// New sessions a second of one address; 0 for no bound.
    public var sessionRate = 10
    /// Intents a second of one session; 0 for no bound.
    public var intentRate = Self.limits.intentRate?.perSecond ?? 0
    /// Idempotency keys that a session remembers.
    public var maxReceipts = Self.limits.receiptsPerSession
    /// Bytes of these.
    public var receiptBytes = Self.limits.receiptBytes
    /// Bytes of labels that a session keeps for clients that are away.
    public var outboxBytes = Self.limits.outboxBytes
    /// Labels that a session keeps for clients that are away.
    public var outboxLabels = Self.limits.outboxLabels
    /// Bytes of one view state.
    public var maxStateBytes = Self.limits.stateBytes
    /// Requests with `Prefer: wait` in all.
    public var maxWaits = Self.limits.waits
    /// Requests with `Prefer: wait` a session.
    public var maxWaitsPerSession = Self.limits.waitsPerSession
    /// Intents of one session that wait for their turn.
    public var maxQueuedIntents = Self.limits.queuedIntents
    /// Bytes of a request's body.
    public var bodyLimit = 1024 * 1024
    /// Bytes that the bodies of all requests hold together.
    public var bodyMemory = 64 * 1024 * 1024
    /// Bytes of a request's head.
    public var headLimit = 16 * 1024

    /// How long a request with `Prefer: wait` waits at most.
    public var maxWait = Self.limits.longestWait
    /// How long a session lives after its last request or stream.
    public var sessionLife = Self.limits.sessionLife
    /// A stream on which nothing was written for so long gets a `ping`.
    public var heartbeat: Duration = .seconds(20)
    /// A stream as old as this, or up to a fifth less, ends, and its client connects again; zero for no such age.
    public var maxStreamAge: Duration = .seconds(3600)
    /// From a request's first byte to its head's end.
    public var headTimeout: Duration = .seconds(15)
    /// From the head's end to the body's end.
    public var bodyTimeout: Duration = .seconds(30)
    /// How long a connection may wait for its next request.
    public var idleTimeout: Duration = .seconds(60)
    /// How long the server takes at most to stop.
    public var grace: Duration = .seconds(10)

    /// What is logged.
    public var logLevel = Logger.Level.info
    /// How log lines look.
    public var logFormat = LogFormat.text
    /// Whether each answer is a line of the log.
    public var accessLog = false
    /// Bytes of a value that a log line shows; 0 hides values.
    public var logValueBytes = 200

    /// The defaults.
    public init() {}
}
