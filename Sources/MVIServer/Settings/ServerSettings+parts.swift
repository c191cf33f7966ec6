import MicroHTTP
import Sessions

extension ServerSettings {
    /// The configuration of the HTTP layer.
    var http: HTTPServerConfiguration { http(hasNodes: false) }

    /// - Parameter hasNodes: whether other nodes send requests, which have more bytes than their clients sent.
    func http(hasNodes: Bool) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(host: host, port: port)
        configuration.threads = threads
        configuration.headLimit = headLimit
        configuration.bodyLimit = bodyLimit
        configuration.connectionLimit = maxConnections
        configuration.headTimeout = headTimeout
        configuration.bodyTimeout = bodyTimeout
        configuration.idleTimeout = idleTimeout
        configuration.heartbeat = heartbeat
        configuration.connectionsPerAddress = maxConnectionsPerAddress
        let addresses = ClientAddress(trusted: trustedProxies)
        configuration.isExempt = { addresses.isTrusted($0) }
        configuration.bodyBudget = bodyMemory
        configuration.streamAge = maxStreamAge > .zero ? maxStreamAge : nil
        if hasNodes {
            configuration.headLimit += NodeStamp.longestField
            configuration.bodyLimit = max(bodyLimit, NodeEndpoints.bodyLimit)
        }
        return configuration
    }

    /// Returns the address at which other nodes reach a server with these settings.
    ///
    /// - Parameter port: the port on which it listens.
    func ownAddress(port: UInt16) -> String { nodeAddress ?? NodeAddress.of(host: host, port: port) }

    /// The limits of sessions.
    var sessionLimits: SessionLimits {
        var limits = SessionLimits()
        limits.sessions = maxSessions
        limits.storesPerSession = maxStoresPerSession
        limits.streams = maxStreams
        limits.streamsPerSession = maxStreamsPerSession
        limits.receiptsPerSession = maxReceipts
        limits.receiptBytes = receiptBytes
        limits.outboxBytes = outboxBytes
        limits.outboxLabels = outboxLabels
        limits.stateBytes = maxStateBytes
        limits.waits = maxWaits
        limits.waitsPerSession = maxWaitsPerSession
        limits.queuedIntents = maxQueuedIntents
        limits.longestWait = maxWait
        limits.intentRate = Rate(perSecond: intentRate, burstSeconds: 5)
        limits.sessionLife = sessionLife
        limits.receiptLife = min(limits.receiptLife, max(sessionLife, limits.receiptGrace))
        limits.recordedTurns = recordedTurns
        limits.passivateAfter = passivateAfter
        // A request holds its session from its head on; it must be over before the session can leave memory.
        limits.evictAfter = max(passivateAfter, bodyTimeout + longestRequest)
        return limits
    }

    /// The rate of new sessions of an address, with bursts of half a minute, since many people may share one.
    var addressSessionRate: Rate? { Rate(perSecond: sessionRate, burstSeconds: 30) }

    /// From a request's body on until its answer, at most.
    private var longestRequest: Duration { .seconds(60) + maxWait }

    /// The time in which requests and streams end by themselves: the HTTP layer needs a moment more to send its last
    /// answers and to join its threads.
    var drainTime: Duration { max(.milliseconds(500), grace - .milliseconds(2_500)) }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension ServerSettings {
    /// The folder in which data is kept; nil if nothing is.
    public var dataFolder: String? { data == ":memory:" ? nil : data }

    /// The path of a file in the folder, which is made if it is not there; nil if nothing is kept.
    public func dataFile(_ name: String) throws(SettingError) -> String? {
        guard let folder = dataFolder else { return nil }
        if let code = Self.fault(ofMaking: folder) {
            throw SettingError(
                name: "data", given: data,
                expected:
                    "a folder that can be made or written to (\(FilePath.reason(code))); the folders above it must "
                    + "exist")
        }
        return folder.hasSuffix("/") ? "\(folder)\(name)" : "\(folder)/\(name)"
    }

    /// Makes a folder if it is not there. The errno if it cannot be made, or not be written to.
    private static func fault(ofMaking folder: String) -> Int32? {
        // The owner alone may look in.
        if mkdir(folder, 0o700) == 0 { return nil }
        guard errno == EEXIST else { return errno }
        guard FilePath.isFolder(folder) else { return ENOTDIR }
        return access(folder, W_OK | X_OK) == 0 ? nil : errno
    }
}

/// The journal of sessions.
public enum JournalKind: Sendable, Hashable {
    /// A file in the data folder: sessions outlive the process.
    case sqlite
    /// Memory: sessions end with the process.
    case memory
    /// A PostgreSQL database, which servers share: a URL, which may hold a password, or an empty text for the database that
    /// the environment names (`PGHOST` and the like). The server has to be given the journal, see `FeatureServer`.
    case postgres(url: String)
}

extension SettingFormat where Value == JournalKind {
    package static var journal: SettingFormat {
        SettingFormat(
            "sqlite, memory, postgres or a URL such as postgres://user@host:5432/name",
            holdsSecret: { $0.hasPassword },
            parse: { text in
                switch text {
                case "sqlite": .sqlite
                case "memory": .memory
                case "postgres": .postgres(url: "")
                default:
                    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") ? .postgres(url: text) : nil
                }
            },
            print: { kind in
                switch kind {
                case .sqlite: "sqlite"
                case .memory: "memory"
                // The URL may hold a password.
                case .postgres: "postgres"
                }
            })
    }
}
