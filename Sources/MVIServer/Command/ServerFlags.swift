import ArgumentParser

/// The flags of the server, by heading. They are taken as texts; what they mean, and whether they do, is the
/// settings' affair, so that a flag, a variable and a line of a file are judged alike.
package struct ServerFlags: ParsableArguments {
    @OptionGroup(title: "Listening") var listening: Listening
    @OptionGroup(title: "Who may call") var callers: Callers
    @OptionGroup(title: "What is kept") var keeping: Keeping
    @OptionGroup(title: "Limits") var limits: Limits
    @OptionGroup(title: "Times") var times: Times
    @OptionGroup(title: "Running") var running: Running

    package init() {}

    struct Listening: ParsableArguments {
        @Option(help: .server("host")) var host: String?
        @Option(help: .server("port")) var port: String?
        @Option(help: .server("admin-host")) var adminHost: String?
        @Option(help: .server("admin-port")) var adminPort: String?
        @Option(help: .server("admin-token")) var adminToken: String?
        @Option(help: .server("admin-token-file")) var adminTokenFile: String?
        @Option(help: .server("node-address")) var nodeAddress: String?
        @Option(help: .server("threads")) var threads: String?
    }

    struct Callers: ParsableArguments {
        @Option(name: .customLong("public-url"), help: .server("public-url")) var publicURL: String?
        @Option(help: .server("allowed-origins")) var allowedOrigins: String?
        @Option(help: .server("trusted-proxy")) var trustedProxy: String?
        @Flag(help: .server("require-identity")) var requireIdentity = false
        @Option(help: .server("identity-header")) var identityHeader: String?
    }

    struct Keeping: ParsableArguments {
        @Option(help: .server("data")) var data: String?
        @Option(help: .server("journal")) var journal: String?
        @Option(help: .server("journal-file")) var journalFile: String?
        @Option(help: .server("journal-connections")) var journalConnections: String?
        @Option(help: .server("journal-schema")) var journalSchema: String?
        @Option(help: .server("journal-listen")) var journalListen: String?
        @Option(help: .server("journal-listen-file")) var journalListenFile: String?
        @Flag(help: .server("lossless-failover")) var losslessFailover = false
        @Option(help: .server("commit-window")) var commitWindow: String?
        @Option(help: .server("record-turns")) var recordTurns: String?
        @Option(help: .server("passivate-after")) var passivateAfter: String?
    }

    struct Limits: ParsableArguments {
        @Option(help: .server("max-sessions")) var maxSessions: String?
        @Option(help: .server("max-kept-sessions")) var maxKeptSessions: String?
        @Option(help: .server("max-stores-per-session")) var maxStoresPerSession: String?
        @Option(help: .server("max-streams")) var maxStreams: String?
        @Option(help: .server("max-streams-per-session")) var maxStreamsPerSession: String?
        @Option(help: .server("max-connections")) var maxConnections: String?
        @Option(help: .server("max-connections-per-address")) var maxConnectionsPerAddress: String?
        @Option(help: .server("max-streams-per-address")) var maxStreamsPerAddress: String?
        @Option(help: .server("max-receipts")) var maxReceipts: String?
        @Option(help: .server("receipt-bytes")) var receiptBytes: String?
        @Option(help: .server("outbox-bytes")) var outboxBytes: String?
        @Option(help: .server("outbox-labels")) var outboxLabels: String?
        @Option(help: .server("max-state-bytes")) var maxStateBytes: String?
        @Option(help: .server("max-waits")) var maxWaits: String?
        @Option(help: .server("max-waits-per-session")) var maxWaitsPerSession: String?
        @Option(help: .server("max-queued-intents")) var maxQueuedIntents: String?
        @Option(help: .server("body-limit")) var bodyLimit: String?
        @Option(help: .server("body-memory")) var bodyMemory: String?
        @Option(help: .server("intent-rate")) var intentRate: String?
        @Option(help: .server("session-rate")) var sessionRate: String?
        @Option(help: .server("head-limit")) var headLimit: String?
    }

    struct Times: ParsableArguments {
        @Option(help: .server("max-wait-seconds")) var maxWaitSeconds: String?
        @Option(name: .customLong("session-ttl"), help: .server("session-ttl")) var sessionTTL: String?
        @Option(help: .server("heartbeat")) var heartbeat: String?
        @Option(help: .server("max-stream-age")) var maxStreamAge: String?
        @Option(help: .server("head-timeout")) var headTimeout: String?
        @Option(help: .server("body-timeout")) var bodyTimeout: String?
        @Option(help: .server("idle-timeout")) var idleTimeout: String?
        @Option(help: .server("grace")) var grace: String?
    }

    struct Running: ParsableArguments {
        @Option(help: .server("log-level")) var logLevel: String?
        @Option(help: .server("log-format")) var logFormat: String?
        @Flag(help: .server("access-log")) var accessLog = false
        @Option(help: .server("log-value-bytes")) var logValueBytes: String?
        @Option(
            help: ArgumentHelp(
                "JSON file with one object, its members named like the flags. [MVI_CONFIG]", valueName: "file"))
        var config: String?
    }

    /// What was given, by name; a test holds this list against the catalogue.
    package var given: [String: String] {
        [
            "host": listening.host, "port": listening.port, "admin-host": listening.adminHost,
            "admin-port": listening.adminPort, "admin-token": listening.adminToken,
            "admin-token-file": listening.adminTokenFile, "threads": listening.threads,
            "node-address": listening.nodeAddress,
            "public-url": callers.publicURL, "allowed-origins": callers.allowedOrigins,
            "trusted-proxy": callers.trustedProxy, "identity-header": callers.identityHeader,
            "require-identity": callers.requireIdentity ? "true" : nil,
            "max-connections-per-address": limits.maxConnectionsPerAddress,
            "max-streams-per-address": limits.maxStreamsPerAddress, "body-memory": limits.bodyMemory,
            "intent-rate": limits.intentRate, "session-rate": limits.sessionRate,
            "max-stream-age": times.maxStreamAge,
            "max-kept-sessions": limits.maxKeptSessions,
            "max-sessions": limits.maxSessions, "max-stores-per-session": limits.maxStoresPerSession,
            "max-streams": limits.maxStreams, "max-streams-per-session": limits.maxStreamsPerSession,
            "max-connections": limits.maxConnections, "max-receipts": limits.maxReceipts,
            "receipt-bytes": limits.receiptBytes,
            "outbox-bytes": limits.outboxBytes, "outbox-labels": limits.outboxLabels,
            "max-state-bytes": limits.maxStateBytes, "max-waits": limits.maxWaits,
            "max-waits-per-session": limits.maxWaitsPerSession, "max-queued-intents": limits.maxQueuedIntents,
            "body-limit": limits.bodyLimit, "head-limit": limits.headLimit,
            "max-wait-seconds": times.maxWaitSeconds, "session-ttl": times.sessionTTL,
            "heartbeat": times.heartbeat, "head-timeout": times.headTimeout, "body-timeout": times.bodyTimeout,
            "idle-timeout": times.idleTimeout, "grace": times.grace,
            "log-format": running.logFormat, "access-log": running.accessLog ? "true" : nil,
            "log-level": running.logLevel, "log-value-bytes": running.logValueBytes, "config": running.config,
            "data": keeping.data, "journal": keeping.journal, "journal-file": keeping.journalFile,
            "journal-connections": keeping.journalConnections, "journal-schema": keeping.journalSchema,
            "journal-listen": keeping.journalListen, "journal-listen-file": keeping.journalListenFile,
            "lossless-failover": keeping.losslessFailover ? "true" : nil, "commit-window": keeping.commitWindow,
            "record-turns": keeping.recordTurns,
            "passivate-after": keeping.passivateAfter,
        ].compactMapValues { $0 }
    }
}

extension ArgumentHelp {
    static func server(_ name: String) -> ArgumentHelp {
        guard let setting = ServerSettings.catalogue.withFileForms().first(where: { $0.name == name }) else {
            preconditionFailure("the flag --\(name) is in no catalogue of settings")
        }
        return ArgumentHelp("\(setting.help)", valueName: setting.valueName)
    }
}
