/// The measurements between this machine and a server, without judgment; nil means not measured.
struct Measurements: Sendable {
    var address: ServerAddress
    /// True if the address is this machine's own.
    var isLoopback: Bool { ["127.0.0.1", "localhost", "[::1]"].contains(address.host) }

    /// The version that was agreed on with a client that offers HTTP/2: `1.1` or `2`.
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

    /// The refusal of a new session.
    var sessionRefusal: Attempt?
    /// Refusals of the server: what was asked, the status that is right, and the answer.
    var refusals: [ExaminedRefusal] = []

    /// A stream without compression.
    var plainStream: StreamSample?
    /// A stream with all encodings of browsers, as far as its head.
    var encodedHead: StreamSample?
    /// A stream of which gzip is decoded.
    var decodedStream: StreamSample?
    /// The delays from the answer to the event of a change.
    var eventDelays: [Duration] = []
    /// Events of changes that did not come within the patience.
    var missingEvents = 0
    /// A stream on which nothing happens.
    var quietStream: QuietSample?
    var together: TogetherSample?

    var arrival: RequestArrival?
    /// The same request with forwarding fields that a client made up.
    var forgedArrival: RequestArrival?

    /// An intent that is none, with the page's own origin, with another one, and with another site's `Sec-Fetch-Site`.
    var ownOrigin: Attempt?
    var foreignOrigin: Attempt?
    var foreignSite: Attempt?
    var cookie: CookieSample?

    /// True if a `Last-Event-ID` that is none was answered with a `reset`.
    var lastEventIDArrived: Bool?
    /// An intent with an `Idempotency-Key` that is too long.
    var longKey: Attempt?
    var tags: TagSample?
    /// Bodies by their size in bytes.
    var bodies: [(bytes: Int, exchange: Attempt)] = []

    init(_ address: ServerAddress) { self.address = address }

    /// The address that no client has (RFC 5737), which forged fields name.
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

/// The beginning of a stream.
struct StreamSample: Sendable {
    /// Status and fields of the head; nil if none came.
    var head: Answer?
    /// From the request to the first event; nil if none came within the patience.
    var firstEvent: Duration?
    /// True if an event came only after the session, and with it the stream, had been ended.
    var cameAtItsEnd = false
    /// The wait for the first event.
    var patience: Duration = .zero
    /// The reason for which the stream failed.
    var failure: String?

    init() {}

    /// The head's `Content-Encoding`, if it is any.
    var encoding: String? {
        guard let encoding = head?["content-encoding"]?.lowercased(), encoding != "identity" else { return nil }
        return encoding
    }
}

/// A stream on which nothing but heartbeats is to come.
struct QuietSample: Sendable {
    enum End: Sendable, Equatable {
        /// It was open when the watch was over.
        case open
        /// The server said why it ends the stream.
        case said(String)
        /// It ended without a word: cleanly or not.
        case cut(String)
    }

    /// Seconds between heartbeats, as the stream's `hello` says; nil if no `hello` came.
    var heartbeat: Int?
    var watched: Duration = .zero
    var end = End.open
    /// The arrival of each ping since the stream's start, and the server's clock in it since 1970.
    var pings: [(arrival: Duration, sent: Duration)] = []
    /// The longest time without any bytes.
    var longestSilence: Duration = .zero

    init() {}
}

/// Several streams at once.
struct TogetherSample: Sendable {
    var wanted: Int
    /// The number of streams that showed their first event.
    var live: Int
    /// The result of an intent that was sent while they were open.
    var intent: Attempt
    /// `1.1` or `2`.
    var http: String

    init(wanted: Int, live: Int, intent: Attempt, http: String) {
        (self.wanted, self.live, self.intent, self.http) = (wanted, live, intent, http)
    }
}

/// A session by cookie.
struct CookieSample: Sendable {
    /// `POST /sessions` for a cookie.
    var made: Attempt
    /// `GET /sessions/current` with that cookie.
    var used: Attempt?

    init(made: Attempt, used: Attempt?) { (self.made, self.used) = (made, used) }

    /// The `Set-Cookie` of the server's session.
    var setCookie: String? {
        made.answer?.fields.first { $0.name.lowercased() == "set-cookie" && $0.value.contains("mvi_session=") }?.value
    }
}

/// Entity tags of one state.
struct TagSample: Sendable {
    var plain: String
    /// The same state's tag for a client that takes compressed answers.
    var compressed: String?
    /// The status that the compressed answer's tag got in `If-None-Match`.
    var conditional: Int?
    /// The `Content-Encoding` of a larger answer in JSON; a state may be too small to be compressed.
    var jsonEncoding: String?

    init(plain: String, compressed: String?, conditional: Int?, jsonEncoding: String? = nil) {
        (self.plain, self.compressed, self.conditional) = (plain, compressed, conditional)
        self.jsonEncoding = jsonEncoding
    }
}
