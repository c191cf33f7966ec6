import EventStream

/// The state of the client's stream and of the stores that it showed.
struct ClientStream: Sendable {
    enum Phase: Sendable {
        /// There is no stream, and the next step depends on the session or the app.
        case closed
        /// The next attempt comes at this time.
        case waiting(until: Duration)
        case open(OpenStream)
        /// The stream was superseded; it is reopened when the app returns to the foreground.
        case paused
        case failed(ServerProblem)
    }

    /// A requested stream.
    struct OpenStream: Sendable {
        let id: ExchangeID
        let features: [String]
        let generation: Int
        /// True if patches were requested.
        let asksForPatches: Bool
        /// True if it was requested in place of a healthy one, for other features.
        let replacesLive: Bool
        var lastByte: Duration
        var heartbeat = Duration.seconds(20)
        /// True if `hello` was received.
        var isLive = false
        /// The answer, if it is not a stream.
        var refusal: HTTPAnswer?
        var isAccepted = false
        var parser = EventParser()
        /// The features whose whole state was shown on this connection.
        var shown: Set<String> = []

        /// The time at which the connection counts as lost.
        var silenceEnd: Duration { lastByte + heartbeat * 2.5 }
    }

    /// A state that was shown.
    struct Shown: Sendable {
        var version: UInt64
        /// The state as JSON, which patches apply to.
        var state: [UInt8]
    }

    /// The reason why a watched feature is left out of the stream.
    enum Refusal: Sendable { case denied, missing }

    var phase = Phase.closed
    /// The time at which the stream was lost.
    var lost = Duration.zero
    /// True if the server gave the time of the next attempt.
    var isAskedTo = false
    /// The number of failed attempts since the last `hello`.
    var attempts = 0
    /// The value of the last `retry`.
    var retryBase = Duration.seconds(3)
    /// The value of `Last-Event-ID`.
    var cursor = ""
    var shown: [String: Shown] = [:]
    /// Kept over reconnects.
    var presences: [String: StorePresence] = [:]
    var seen = SeenLabels()
    var refused: [String: Refusal] = [:]
    /// The refusals found so far for the features of a refused stream.
    var looked: [String: Refusal] = [:]
    /// The end of the period in which changes of the watched stores are gathered.
    var gatherEnd: Duration?
    /// The number of consecutive streams that were reopened because of a patch.
    var failedPatches = 0

    /// The number of such streams after which patches are no longer requested.
    static let failedPatchLimit = 3

    /// Ends a delay that the client chose.
    mutating func retryNow() {
        if case .waiting(let until) = phase, !isAskedTo { phase = .waiting(until: min(until, lost + Pace.floor)) }
    }

    var open: OpenStream? {
        if case .open(let open) = phase { open } else { nil }
    }
}
