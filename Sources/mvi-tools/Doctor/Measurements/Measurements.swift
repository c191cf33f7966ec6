/// The measurements between this machine and a server, without judgments. Nil means not measured.
struct Measurements: Sendable {
    var address: ServerAddress
    /// True if the address is this machine's own.
    var isLoopback: Bool { ["127.0.0.1", "localhost", "[::1]"].contains(address.host) }

    /// The negotiated version for a client that offers HTTP/2: `1.1` or `2`.
    var http = "1.1"
    /// The `Server` and `Via` fields of an answer.
    var serverField: String?
    var viaField: String?
    /// The durations of small requests on an open connection.
    var roundTrips: [Duration] = []
    /// Answers with a `Date`.
    var dated: [Answer] = []

    var live: Attempt?
    var ready: Attempt?
    var adminLive: Attempt?
    var adminReady: Attempt?

    /// The answer that refused a session.
    var sessionRefusal: Attempt?
    /// The server's refusals: request, expected status and answer.
    var refusals: [ExaminedRefusal] = []

    /// A stream without compression.
    var plainStream: StreamSample?
    /// The head of a stream with all encodings of browsers.
    var encodedHead: StreamSample?
    /// A stream with decoded gzip.
    var decodedStream: StreamSample?
    /// The delays of changes' events after their answers.
    var eventDelays: [Duration] = []
    /// The number of events that did not arrive in time.
    var missingEvents = 0
    /// A stream without changes.
    var quietStream: QuietSample?
    var together: TogetherSample?

    var arrival: RequestArrival?
    /// The same request with forged forwarding fields.
    var forgedArrival: RequestArrival?

    /// An invalid intent with the page's own origin, with another one, and with another site's `Sec-Fetch-Site`.
    var ownOrigin: Attempt?
    var foreignOrigin: Attempt?
    var foreignSite: Attempt?
    var cookie: CookieSample?

    /// True if an unknown `Last-Event-ID` was answered with a `reset`.
    var lastEventIDArrived: Bool?
    /// An intent with an `Idempotency-Key` that is too long.
    var longKey: Attempt?
    var tags: TagSample?
    /// Bodies by their size in bytes.
    var bodies: [(bytes: Int, exchange: Attempt)] = []

    init(_ address: ServerAddress) { self.address = address }

    /// A reserved address (RFC 5737) for forged fields.
    static let forgedClient = "192.0.2.77"
}

/// A request that the server refuses.
struct ExaminedRefusal: Sendable {
    var request: String
    var status: Int
    var exchange: Attempt

    init(request: String, status: Int, exchange: Attempt) {
        (self.request, self.status, self.exchange) = (request, status, exchange)
    }
}

/// The first events of a stream.
struct StreamSample: Sendable {
    /// The status and fields of the head; nil if none came.
    var head: Answer?
    /// The time from the request to the first event; nil if none came in time.
    var firstEvent: Duration?
    /// True if an event came only after the session and its stream were ended.
    var cameAtItsEnd = false
    /// The timeout for the first event.
    var patience: Duration = .zero
    /// The reason for the stream's failure.
    var failure: String?

    init() {}

    /// The head's `Content-Encoding`; nil without one.
    var encoding: String? {
        guard let encoding = head?["content-encoding"]?.lowercased(), encoding != "identity" else { return nil }
        return encoding
    }
}

/// A stream with heartbeats only.
struct QuietSample: Sendable {
    enum End: Sendable, Equatable {
        /// The stream was open at the end of the measurement.
        case open
        /// The server sent a reason and ended the stream.
        case said(String)
        /// The stream ended without an event: cleanly or not.
        case cut(String)
    }

    /// The seconds between heartbeats in the stream's `hello`; nil if no `hello` came.
    var heartbeat: Int?
    var watched: Duration = .zero
    var end = End.open
    /// The arrival of each ping since the stream's start, and its server time since 1970.
    var pings: [(arrival: Duration, sent: Duration)] = []
    /// The longest time without bytes.
    var longestSilence: Duration = .zero

    init() {}
}

/// Several concurrent streams.
struct TogetherSample: Sendable {
    var wanted: Int
    /// The number of streams that got their first event.
    var live: Int
    /// The result of an intent during the streams.
    var intent: Attempt
    /// The HTTP version: `1.1` or `2`.
    var http: String

    init(wanted: Int, live: Int, intent: Attempt, http: String) {
        (self.wanted, self.live, self.intent, self.http) = (wanted, live, intent, http)
    }
}

/// A session with a cookie.
struct CookieSample: Sendable {
    /// `POST /sessions` for a cookie.
    var made: Attempt
    /// `GET /sessions/current` with that cookie.
    var used: Attempt?

    init(made: Attempt, used: Attempt?) { (self.made, self.used) = (made, used) }

    /// The `Set-Cookie` of the server's session.
    var setCookie: String? {
        made.answer?.fields.first { field in
            // After the name a port may follow.
            let name = field.value.prefix { $0 != "=" }.drop { $0 == " " }
            return field.name.lowercased() == "set-cookie"
                && ["mvi_session", "__Host-mvi_session"].contains { name == $0 || name.hasPrefix("\($0)_") }
        }?.value
    }
}

/// The entity tags of one state.
struct TagSample: Sendable {
    var plain: String
    /// The state's tag for a client that accepts compressed answers.
    var compressed: String?
    /// The status for the compressed answer's tag in `If-None-Match`.
    var conditional: Int?
    /// The `Content-Encoding` of a larger JSON answer; a state may be too small to be compressed.
    var jsonEncoding: String?

    init(plain: String, compressed: String?, conditional: Int?, jsonEncoding: String? = nil) {
        (self.plain, self.compressed, self.conditional) = (plain, compressed, conditional)
        self.jsonEncoding = jsonEncoding
    }
}
