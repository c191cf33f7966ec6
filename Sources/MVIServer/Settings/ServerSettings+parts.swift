import MicroHTTP
import SessionJournal
import Sessions

extension ServerSettings {
    /// The configuration of the HTTP layer.
    var http: HTTPServerConfiguration { http(hasNodes: false) }

    /// - Parameter hasNodes: true if other nodes forward requests, which are larger than those of clients.
    func http(hasNodes: Bool) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(host: host, port: port)
        configuration.unixSocket = unixSocket.map { UnixSocket(path: $0, mode: unixSocketMode) }
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

    /// The address at which other nodes reach a server with these settings.
    ///
    /// - Parameter port: the port on which it listens.
    func ownAddress(port: UInt16) -> String { nodeAddress ?? NodeAddress.of(host: host, port: port) }

    /// The limits of sessions.
    var sessionLimits: SessionLimits {
        var limits = SessionLimits()
        limits.sessions = maxSessions
        limits.storesPerSession = maxStoresPerSession
        limits.loadedStores = maxLoadedStores
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
        limits.credentialLife = credentialLife
        limits.subjectLife = subjectLife
        limits.receiptLife = min(limits.receiptLife, max(sessionLife, limits.receiptGrace))
        limits.recordings = RecordingLimit(turns: recordedTurns, bytes: recordedBytes)
        limits.passivateAfter = passivateAfter
        // A request holds its session from its head on; it must end before the session can leave memory.
        limits.evictAfter = max(passivateAfter, bodyTimeout + longestRequest)
        return limits
    }

    /// The rate of new sessions of an address. The burst is half a minute, since many people may share an address.
    var addressSessionRate: Rate? { Rate(perSecond: sessionRate, burstSeconds: 30) }

    /// The maximal time from a request's body to its answer.
    private var longestRequest: Duration { .seconds(60) + maxWait }

    /// The time for requests and streams to end by themselves. The HTTP layer needs some more time to send its last
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
    /// The data folder; nil if sessions are in memory only.
    public var dataFolder: String? { data == ":memory:" ? nil : data }

    /// Returns the path of a file in the data folder; nil without one. Creates the folder if it does not exist.
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

    /// Creates a folder if it does not exist. Returns the errno if it cannot be created or is not writable.
    private static func fault(ofMaking folder: String) -> Int32? {
        // Only the owner has access.
        if mkdir(folder, 0o700) == 0 { return nil }
        guard errno == EEXIST else { return errno }
        guard FilePath.isFolder(folder) else { return ENOTDIR }
        return access(folder, W_OK | X_OK) == 0 ? nil : errno
    }
}

/// The kind of the journal.
public enum JournalKind: Sendable, Hashable {
    /// A file in the data folder: sessions outlive the process.
    case sqlite
    /// Memory: sessions end with the process.
    case memory
    /// A PostgreSQL database that servers share: a URL, which may contain a password, or an empty text for the database
    /// of the environment (`PGHOST` etc.). The server needs the journal's module, see `FeatureServer`.
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
                // The URL may contain a password.
                case .postgres: "postgres"
                }
            })
    }
}
