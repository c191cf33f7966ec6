import MicroHTTP
import Sessions

extension ServerSettings {
    /// What the HTTP layer is told.
    var http: HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(host: host, port: port)
        configuration.threads = threads
        configuration.headLimit = headLimit
        configuration.bodyLimit = bodyLimit
        configuration.connectionLimit = maxConnections
        configuration.headTimeout = headTimeout
        configuration.bodyTimeout = bodyTimeout
        configuration.idleTimeout = idleTimeout
        configuration.heartbeat = heartbeat
        return configuration
    }

    /// What the sessions are told.
    var sessionLimits: SessionLimits {
        var limits = SessionLimits()
        limits.sessions = maxSessions
        limits.storesPerSession = maxStoresPerSession
        limits.streams = maxStreams
        limits.streamsPerSession = maxStreamsPerSession
        limits.receiptsPerSession = maxReceipts
        limits.outboxBytes = outboxBytes
        limits.outboxLabels = outboxLabels
        limits.viewStateBytes = maxStateBytes
        limits.waits = maxWaits
        limits.waitsPerSession = maxWaitsPerSession
        limits.queuedIntents = maxQueuedIntents
        limits.longestWait = maxWait
        limits.sessionLife = sessionLife
        limits.recordedTurns = recordedTurns
        limits.passivateAfter = passivateAfter
        // A request holds its session from its head on; it must be over before the session can leave memory.
        limits.evictAfter = max(passivateAfter, bodyTimeout + longestRequest)
        return limits
    }

    /// From a request's body on until its answer, at most.
    private var longestRequest: Duration { .seconds(60) + maxWait }

    /// How long requests and streams have to end by themselves: the HTTP layer needs a moment more to send its last
    /// answers and to join its threads.
    var drainTime: Duration { max(.milliseconds(500), grace - .milliseconds(2_500)) }
}
