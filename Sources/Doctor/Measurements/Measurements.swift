/// What was measured between this machine and a server. Nothing is judged here; nil is not measured.
package struct Measurements: Sendable {
    package var address: ServerAddress
    /// Whether the address is this machine's own.
    package var isLoopback: Bool { ["127.0.0.1", "localhost", "[::1]"].contains(address.host) }

    /// The version that was agreed on with a client that offers HTTP/2: `1.1` or `2`.
    package var http = "1.1"
    /// The `Server` and `Via` fields of an answer.
    package var serverField: String?
    package var viaField: String?
    /// How long small requests took on a connection that was there.
    package var roundTrips: [Duration] = []
    /// Answers with a `Date`.
    package var dated: [Answer] = []

    package var live: Exchange?
    package var ready: Exchange?
    package var adminLive: Exchange?
    package var adminReady: Exchange?

    /// Why no session could be made.
    package var sessionRefusal: Exchange?
    /// Refusals of the server: what was asked, the status that is right, and the answer.
    package var refusals: [Refusal] = []

    /// A stream without compression.
    package var plainStream: StreamSample?
    /// A stream with all encodings of browsers, as far as its head.
    package var encodedHead: StreamSample?
    /// A stream of which gzip is decoded.
    package var decodedStream: StreamSample?
    /// How much later than its answer the event of a change came.
    package var eventDelays: [Duration] = []
    /// Events of changes that did not come within the patience.
    package var missingEvents = 0
    /// A stream on which nothing happens.
    package var quietStream: QuietSample?
    package var together: TogetherSample?

    package var arrival: RequestArrival?
    /// The same request with forwarding fields that a client made up.
    package var forgedArrival: RequestArrival?

    /// An intent that is none, with the page's own origin, with another one, and with another site's `Sec-Fetch-Site`.
    package var ownOrigin: Exchange?
    package var foreignOrigin: Exchange?
    package var foreignSite: Exchange?
    package var cookie: CookieSample?

    /// Whether a `Last-Event-ID` that is none was answered with a `reset`.
    package var lastEventIDArrived: Bool?
    /// An intent with an `Idempotency-Key` that is too long.
    package var longKey: Exchange?
    package var tags: TagSample?
    /// Bodies by their size in bytes.
    package var bodies: [(bytes: Int, exchange: Exchange)] = []

    package init(_ address: ServerAddress) { self.address = address }

    /// The address that no client has (RFC 5737), which forged fields name.
    package static let forgedClient = "192.0.2.77"
}

/// A request that the server refuses.
package struct Refusal: Sendable {
    package var request: String
    package var status: Int
    package var exchange: Exchange

    package init(request: String, status: Int, exchange: Exchange) {
        (self.request, self.status, self.exchange) = (request, status, exchange)
    }
}

/// The beginning of a stream.
package struct StreamSample: Sendable {
    /// Status and fields of the head; nil if none came.
    package var head: Answer?
    /// From the request to the first event; nil if none came within the patience.
    package var firstEvent: Duration?
    /// Whether an event came only after the session, and with it the stream, had been ended.
    package var cameAtItsEnd = false
    /// How long was waited for the first event.
    package var patience: Duration = .zero
    /// Why the stream failed.
    package var failure: String?

    package init() {}

    /// The head's `Content-Encoding`, if it is any.
    package var encoding: String? {
        guard let encoding = head?["content-encoding"]?.lowercased(), encoding != "identity" else { return nil }
        return encoding
    }
}

/// A stream on which nothing but heartbeats is to come.
package struct QuietSample: Sendable {
    package enum End: Sendable, Equatable {
        /// It was open when the watch was over.
        case open
        /// The server said why it ends the stream.
        case said(String)
        /// It ended without a word: cleanly or not.
        case cut(String)
    }

    /// Seconds between heartbeats, as the stream's `hello` says; nil if no `hello` came.
    package var heartbeat: Int?
    package var watched: Duration = .zero
    package var end = End.open
    /// When each ping arrived, from the stream's start, and the server's clock in it since 1970.
    package var pings: [(arrival: Duration, sent: Duration)] = []
    /// The longest time without any bytes.
    package var longestSilence: Duration = .zero

    package init() {}
}

/// Several streams at once.
package struct TogetherSample: Sendable {
    package var wanted: Int
    /// How many showed their first event.
    package var live: Int
    /// What became of an intent that was sent while they were open.
    package var intent: Exchange
    /// `1.1` or `2`.
    package var http: String

    package init(wanted: Int, live: Int, intent: Exchange, http: String) {
        (self.wanted, self.live, self.intent, self.http) = (wanted, live, intent, http)
    }
}

/// A session by cookie.
package struct CookieSample: Sendable {
    /// `POST /sessions` for a cookie.
    package var made: Exchange
    /// `GET /sessions/current` with that cookie.
    package var used: Exchange?

    package init(made: Exchange, used: Exchange?) { (self.made, self.used) = (made, used) }

    /// The `Set-Cookie` of the server's session.
    package var setCookie: String? {
        made.answer?.fields.first { $0.name.lowercased() == "set-cookie" && $0.value.contains("mvi_session=") }?.value
    }
}

/// Entity tags of one state.
package struct TagSample: Sendable {
    package var plain: String
    /// The same state's tag for a client that takes compressed answers.
    package var compressed: String?
    /// The status that the compressed answer's tag got in `If-None-Match`.
    package var conditional: Int?
    /// The `Content-Encoding` of a larger answer in JSON; a state may be too small to be compressed.
    package var jsonEncoding: String?

    package init(plain: String, compressed: String?, conditional: Int?, jsonEncoding: String? = nil) {
        (self.plain, self.compressed, self.conditional) = (plain, compressed, conditional)
        self.jsonEncoding = jsonEncoding
    }
}
