extension ServerSettings {
    /// Every setting of a server, in the order of `--help`.
    package static let catalogue: [Setting<ServerSettings>] = listening + callers + keeping + limits + times + running

    /// The names of all, those included that name a file with another one's value.
    package static var names: [String] { catalogue.withFileForms().map(\.name) }

    private static let listening: [Setting<ServerSettings>] = [
        setting(
            "host", "address", "Address to listen on; 0.0.0.0 or :: for every interface.", \.host, .host),
        setting("port", "port", "Port to listen on; 0 for any free one.", \.port, .number(0...65_535)),
        setting("admin-host", "address", "Address of the admin port.", \.adminHost, .host),
        setting(
            "admin-port", "port",
            "Port for health checks, metrics and administrators, for a network of its own; without it the main port "
                + "answers health checks, and the rest is not there.",
            \.adminPort, SettingFormat.number(0...65_535).orNone),
        setting(
            "admin-token", "text",
            "What administrators send as Authorization: Bearer. Without it the admin port has health checks, and metrics for "
                + "this machine. Other users of the machine see flags: use --admin-token-file, or the variable.",
            \.adminToken, SettingFormat.adminToken.orNone),
        setting(
            "node-address", "address",
            "Host and port at which other servers with the same PostgreSQL journal reach this one; by default those that it "
                + "listens on, or the machine's name.",
            \.nodeAddress, SettingFormat.nodeAddress.orNone),
        setting(
            "threads", "count", "Threads that take requests; as many as there are cores is right.",
            \.threads, .number(1...256)),
    ]

    private static let callers: [Setting<ServerSettings>] = [
        setting(
            "public-url", "url",
            "Address under which browsers reach the server, if a proxy is in front; with https cookies are Secure.",
            \.publicURL, SettingFormat.origin.orNone),
        setting(
            "allowed-origins", "origins",
            "Origins whose pages may use the server from another site, with commas between them.",
            \.allowedOrigins, .origins),
        setting(
            "trusted-proxy", "addresses",
            "Proxies in front, with commas between them, such as 127.0.0.1 or 10.0.0.0/8: what they say in Forwarded or "
                + "X-Forwarded-For of where a request came from counts.",
            \.trustedProxies, .addresses),
        setting(
            "require-identity", "true",
            "Refuse anonymous sessions: somebody has to be signed in.", \.requireIdentity, .flag),
        setting(
            "identity-header", "field",
            "Header field by which a trusted proxy names who is signed in, such as X-Remote-User.",
            \.identityHeader, SettingFormat.text.orNone),
    ]

    private static let keeping: [Setting<ServerSettings>] = [
        setting(
            "data", "folder",
            "Folder in which sessions are kept, made if it is not there; ':memory:' keeps nothing.", \.data, .text),
        setting(
            "journal", "kind",
            "What sessions are kept in: sqlite, so that they outlive the process; memory; or PostgreSQL, which servers "
                + "share: a URL such as postgres://user@host/name, or postgres for the database of PGHOST and the like. One "
                + "with a password belongs into --journal-file, or the variable.",
            \.journal, .journal),
        setting(
            "journal-connections", "count",
            "Connections to PostgreSQL that write; as many others read.", \.journalConnections, .number(1...64)),
        setting(
            "journal-schema", "name", "Schema in PostgreSQL that the journal's tables are in.",
            \.journalSchema, .schemaName),
        setting(
            "journal-listen", "url",
            "PostgreSQL's URL without a pooler in between, where --journal names one: news of other servers are heard there.",
            \.journalListen, SettingFormat.postgresURL.orNone),
        setting(
            "lossless-failover", "true",
            "Says that a standby of PostgreSQL that takes over has all that was committed: clients go on then as if nothing had "
                + "happened, and miss nothing only if it is true. Not for the first start after a restore.",
            \.losslessFailover, .flag),
        setting(
            "commit-window", "time",
            "How long the SQLite journal gathers what several clients write, for one sync of the disk; 0 not at all.",
            \.commitWindow, .time(.zero ... .seconds(1))),
        setting(
            "record-turns", "count",
            "Turns that are recorded of each session, to be exported as a test's fixture; 0 records none.",
            \.recordedTurns, .number(0...1_000_000)),
        setting(
            "passivate-after", "time",
            "A store that was not used for so long leaves memory until it is needed.",
            \.passivateAfter, .time(.seconds(1) ... .seconds(24 * 3600))),
    ]

    private static let limits: [Setting<ServerSettings>] = [
        limit("max-sessions", "Sessions in memory; those that are not in use leave it.", \.maxSessions),
        limit("max-kept-sessions", "Sessions that are kept, in memory or not.", \.maxKeptSessions),
        limit("max-stores-per-session", "Feature instances a session.", \.maxStoresPerSession),
        limit("max-streams", "Streams in all.", \.maxStreams),
        limit("max-streams-per-session", "Streams a session; one more and the oldest goes.", \.maxStreamsPerSession),
        limit("max-connections", "Connections at once, streams not counted.", \.maxConnections),
        limit(
            "max-connections-per-address", "Connections of one address that is no trusted proxy's.",
            \.maxConnectionsPerAddress),
        limit("max-streams-per-address", "Streams of one address.", \.maxStreamsPerAddress),
        limit("max-receipts", "Idempotency keys that a session remembers.", \.maxReceipts),
        setting(
            "receipt-bytes", "bytes", "Bytes of these, about as they take in memory.", \.receiptBytes,
            .bytes(1_024...1 << 30)),
        setting(
            "outbox-bytes", "bytes", "Bytes of labels that a session keeps for clients that are away.",
            \.outboxBytes, .bytes(1_024...1 << 30)),
        limit("outbox-labels", "Labels that a session keeps for clients that are away.", \.outboxLabels),
        setting(
            "max-state-bytes", "bytes", "Bytes of one feature's state, and of what clients see of it.",
            \.maxStateBytes,
            .bytes(1_024...1 << 30)),
        limit("max-waits", "Requests with 'Prefer: wait' in all.", \.maxWaits),
        limit("max-waits-per-session", "Requests with 'Prefer: wait' a session.", \.maxWaitsPerSession),
        limit("max-queued-intents", "Intents of one session that wait for their turn.", \.maxQueuedIntents),
        setting("body-limit", "bytes", "Bytes of a request's body.", \.bodyLimit, .bytes(1_024...1 << 30)),
        setting(
            "body-memory", "bytes", "Bytes that the bodies of all requests hold together.", \.bodyMemory,
            .bytes(1_024...1 << 34)),
        rate("intent-rate", "Intents a second of one session, those of five seconds at once.", \.intentRate),
        rate("session-rate", "New sessions a second of one address, those of half a minute at once.", \.sessionRate),
        setting("head-limit", "bytes", "Bytes of a request's head.", \.headLimit, .bytes(1_024...1 << 20)),
    ]

    private static func rate(
        _ name: String, _ summary: String, _ path: any WritableKeyPath<ServerSettings, Int> & Sendable
    ) -> Setting<ServerSettings> {
        setting(name, "count", "\(summary) 0 for no bound.", path, .number(0...1_000_000))
    }

    private static let times: [Setting<ServerSettings>] = [
        setting(
            "max-wait-seconds", "time", "How long 'Prefer: wait' waits at most.", \.maxWait,
            .time(.zero ... .seconds(50))),
        setting(
            "session-ttl", "time", "How long a session lives after its last request or stream.",
            \.sessionLife, .time(.seconds(60) ... .seconds(366 * 24 * 3600))),
        setting(
            "heartbeat", "time", "A stream on which nothing was written for so long gets a ping.",
            \.heartbeat, .time(.seconds(1) ... .seconds(600))),
        setting(
            "max-stream-age", "time",
            "A stream ends at this age, or up to a fifth earlier, and its client connects again; 0 for never.",
            \.maxStreamAge, .time(.zero ... .seconds(366 * 24 * 3600))),
        setting(
            "head-timeout", "time", "From a request's first byte to its head's end.", \.headTimeout,
            .time(.seconds(1) ... .seconds(15))),
        setting(
            "body-timeout", "time", "From a head's end to its body's end.", \.bodyTimeout,
            .time(.seconds(1) ... .seconds(600))),
        setting(
            "idle-timeout", "time", "How long a connection may wait for its next request.", \.idleTimeout,
            .time(.seconds(1) ... .seconds(600))),
        setting(
            "grace", "time", "How long the server takes at most to stop.", \.grace,
            .time(.seconds(1) ... .seconds(600))),
    ]

    private static let running: [Setting<ServerSettings>] = [
        setting(
            "log-level", "level",
            "What is logged: trace, debug (every event of every feature), info, notice, warning, error, critical.",
            \.logLevel, .oneOf),
        setting(
            "log-format", "format", "How log lines look: text, or json with one object a line.", \.logFormat,
            .oneOf),
        setting(
            "access-log", "true", "Log each answer: who asked for what, what came of it, how long it took.",
            \.accessLog, .flag),
        setting(
            "log-value-bytes", "bytes", "Bytes of a value that a log line shows; 0 hides values.",
            \.logValueBytes, .bytes(0...1 << 20)),
    ]

    private static func setting<Value>(
        _ name: String, _ valueName: String, _ summary: String,
        _ path: any WritableKeyPath<ServerSettings, Value> & Sendable, _ format: SettingFormat<Value>
    ) -> Setting<ServerSettings> {
        Setting(name, valueName, summary, path, format, defaults: ServerSettings())
    }

    private static func limit(
        _ name: String, _ summary: String, _ path: any WritableKeyPath<ServerSettings, Int> & Sendable
    ) -> Setting<ServerSettings> {
        setting(name, "count", summary, path, .number(1...100_000_000))
    }
}
