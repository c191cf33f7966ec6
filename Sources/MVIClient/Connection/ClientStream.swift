import EventStream

/// The state of the client's stream.
struct ClientStream: Sendable {
    enum Phase: Sendable {
        /// There is none, and nothing to wait for but what the session or the app does.
        case closed
        /// The next try comes at this time.
        case waiting(until: Duration)
        case open(OpenStream)
        /// Superseded: opened again when the app is looked at.
        case paused
        case failed(ServerProblem)
    }

    /// A stream that was asked for.
    struct OpenStream: Sendable {
        let id: ExchangeID
        let features: [String]
        let generation: Int
        /// True if patches were asked for.
        let asksForPatches: Bool
        var lastByte: Duration
        var heartbeat = Duration.seconds(20)
        /// True if `hello` was seen.
        var isLive = false
        /// Of an answer that is no stream.
        var refusal: HTTPAnswer?
        var isAccepted = false
        var parser = EventParser()
        /// The features whose whole state was shown on this connection.
        var shown: Set<String> = []

        /// The time at which a silent connection counts as lost.
        var silenceEnd: Duration { lastByte + heartbeat * 2.5 }
    }

    /// A state that was shown.
    struct Shown: Sendable {
        var version: UInt64
        /// JSON; patches apply to it.
        var state: [UInt8]
    }

    /// The reason for which a watched feature is not on the stream.
    enum Refusal: Sendable { case denied, missing }

    var phase = Phase.closed
    /// Failed tries since the last `hello`.
    var attempts = 0
    /// The last `retry`.
    var retryBase = Duration.seconds(3)
    /// The value of `Last-Event-ID`.
    var cursor = ""
    var shown: [String: Shown] = [:]
    var seen = SeenLabels()
    var refused: [String: Refusal] = [:]
    /// The results so far for the features of a refused stream.
    var looked: [String: Refusal] = [:]
    /// Until then stores that are watched or not any more are gathered.
    var gatherEnd: Duration?
    /// Streams in a row that were opened anew because of a patch.
    var failedPatches = 0

    /// So many streams in a row, and no patches are asked for any more.
    static let failedPatchLimit = 3

    var open: OpenStream? {
        if case .open(let open) = phase { open } else { nil }
    }
}
