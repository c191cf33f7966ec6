import Testing

@testable import mvi_tools

/// One row: the measurements and the expected finding.
struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: Check
    let verdict: Verdict
    let words: String
    let change: @Sendable (inout Measurements) -> Void

    init(
        _ name: String, _ check: Check, _ verdict: Verdict, _ words: String = "",
        url: String = "https://mvi.example.com", _ change: @escaping @Sendable (inout Measurements) -> Void
    ) {
        (testDescription, self.check, self.verdict, self.words, self.url) = (name, check, verdict, words, url)
        self.change = change
    }

    let url: String
}

extension Attempt {
    static func problem(_ status: Int, _ name: String) -> Attempt {
        .answer(
            Answer(
                status: status, fields: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"/problems/\#(name)"}"#.utf8)))
    }

    static func page(_ status: Int) -> Attempt {
        .answer(Answer(status: status, fields: [("Content-Type", "text/html")], body: Array("<p>no</p>".utf8)))
    }

    static func json(_ text: String) -> Attempt {
        .answer(Answer(status: 200, fields: [("Content-Type", "application/json")], body: Array(text.utf8)))
    }

    static func cookie(_ text: String) -> Attempt {
        .answer(Answer(status: 201, fields: [("Set-Cookie", text)]))
    }

    static let live = json(#"{"status":"live"}"#)
    static let ready = json(#"{"status":"ready"}"#)
}

@Suite("Doctor's findings about measurements")
struct ProxyChecksTests {
    private static func dated(_ text: String, sent: Int, received: Int) -> Answer {
        Answer(status: 200, fields: [("Date", text)], sent: .seconds(sent), received: .seconds(received))
    }

    private static func stream(_ first: Duration?, encoding: String? = nil, atEnd: Bool = false) -> StreamSample {
        var sample = StreamSample()
        sample.head = Answer(status: 200, fields: encoding.map { [("Content-Encoding", $0)] } ?? [])
        (sample.firstEvent, sample.cameAtItsEnd, sample.patience) = (first, atEnd, .seconds(3))
        return sample
    }

    private static func quiet(
        _ watched: Duration, _ end: QuietSample.End = .open, heartbeat: Int = 20, pings: [(Duration, Duration)] = []
    ) -> QuietSample {
        var sample = QuietSample()
        (sample.watched, sample.end, sample.heartbeat) = (watched, end, heartbeat)
        sample.pings = pings.map { (arrival: $0.0, sent: $0.1) }
        return sample
    }

    static let streams: [Row] = [
        Row("HTTP/2 agreed on", .http2, .ok) { $0.http = "2" },
        Row("TLS without HTTP/2", .http2, .wrong, "seventh stream") { $0.http = "1.1" },
        Row("no TLS", .http2, .warning, "six connections", url: "http://mvi.example.com") { _ in },
        Row("no TLS on this machine", .http2, .notMeasured, url: "http://127.0.0.1:8080") { _ in },
        Row("all streams live", .streamsTogether, .ok, "8 of 8") {
            $0.together = TogetherSample(wanted: 8, live: 8, intent: .problem(404, "feature-not-found"), http: "2")
        },
        Row("some streams wait", .streamsTogether, .wrong, "6 of 8") {
            $0.together = TogetherSample(wanted: 8, live: 6, intent: .problem(404, "feature-not-found"), http: "2")
        },
        Row("no intent beside streams", .streamsTogether, .wrong, "no answer: none in 10.0 s") {
            $0.together = TogetherSample(wanted: 8, live: 8, intent: .failure("none in 10.0 s"), http: "1.1")
        },
        Row("no stream", .buffering, .notMeasured) { _ in },
        Row("an event at once", .buffering, .ok, "after 30 ms") {
            $0.roundTrips = [.milliseconds(20)]
            $0.plainStream = stream(.milliseconds(30))
        },
        Row("an event at the stream's end", .buffering, .wrong, "had been ended") {
            $0.plainStream = stream(nil, atEnd: true)
        },
        Row("no event at all", .buffering, .wrong, "only its head") { $0.plainStream = stream(nil) },
        Row("a first event that is late", .buffering, .wrong, "2.0 s") { $0.plainStream = stream(.seconds(2)) },
        Row("a far server's first event", .buffering, .ok) {
            $0.roundTrips = [.seconds(2)]
            $0.plainStream = stream(.milliseconds(2_100))
        },
        Row("an event of a change that does not come", .buffering, .wrong, "1 event did not come") {
            $0.plainStream = stream(.milliseconds(5))
            $0.missingEvents = 1
        },
        Row("one slow event among fast ones", .buffering, .ok, "1.0 ms to 1.5 s") {
            $0.plainStream = stream(.milliseconds(5))
            $0.eventDelays = [.milliseconds(1), .milliseconds(1_500)]
        },
        Row("each event waits for a timer", .buffering, .warning) {
            $0.plainStream = stream(.milliseconds(500))
            $0.eventDelays = [.milliseconds(480), .milliseconds(500)]
        },
        Row("heartbeats in a lump", .buffering, .wrong, "20.0 s apart came 0.0 ms apart") {
            $0.plainStream = stream(.milliseconds(5))
            $0.quietStream = quiet(
                .seconds(60), pings: [(.seconds(40), .seconds(1_000)), (.seconds(40), .seconds(1_020))])
        },
        Row("no encoding", .compression, .ok) { $0.encodedHead = stream(.milliseconds(5)) },
        Row("an encoding that buffers events", .compression, .wrong, "gzip") {
            $0.encodedHead = stream(nil, encoding: "gzip")
            $0.decodedStream = stream(nil, encoding: "gzip")
        },
        Row("an encoding that passes them", .compression, .warning, "in time") {
            $0.encodedHead = stream(nil, encoding: "gzip")
            $0.decodedStream = stream(.milliseconds(9), encoding: "gzip")
        },
        Row("an encoding that is not read", .compression, .warning, "br") {
            $0.encodedHead = stream(nil, encoding: "br")
        },
        Row("a quiet stream that stays", .silence, .ok, "2 heartbeats") {
            $0.quietStream = quiet(
                .seconds(46), pings: [(.seconds(20), .seconds(20)), (.seconds(41), .seconds(41))])
        },
        Row("a quiet stream that is cut", .silence, .wrong, "after 15.0 s") {
            $0.quietStream = quiet(.seconds(15), .cut("it ended cleanly"))
        },
        Row("a quiet stream that the server ends", .silence, .notMeasured, "drain") {
            $0.quietStream = quiet(.seconds(15), .said("drain"))
        },
        Row("a short watch", .silence, .notMeasured, "for 5.0 s") { $0.quietStream = quiet(.seconds(5)) },
        Row("heartbeats that do not come", .silence, .wrong, "buffered on the path") {
            $0.quietStream = quiet(.seconds(46))
        },
    ]

    static let requests: [Row] = [
        Row("healthy", .health, .ok) { ($0.live, $0.ready) = (.live, .ready) },
        Row("blocked health checks", .health, .warning, "404 without a problem") {
            ($0.live, $0.ready) = (.page(404), .page(404))
        },
        Row("the same, with the admin address", .health, .ok) {
            ($0.live, $0.ready, $0.adminLive, $0.adminReady) = (.page(404), .page(404), .live, .ready)
        },
        Row("a server that is not ready", .health, .wrong, "503 not-ready") {
            ($0.live, $0.ready) = (.live, .problem(503, "not-ready"))
        },
        Row("an admin address that is silent", .health, .wrong, "no answer") {
            ($0.live, $0.ready, $0.adminLive) = (.live, .ready, .failure("refused"))
        },
        Row("another page instead of health", .health, .warning) {
            ($0.live, $0.ready) = (.json(#"{"status":"fine"}"#), .ready)
        },
        Row("sessions that need an identity", .sessions, .notMeasured, "identity-required") {
            $0.sessionRefusal = .problem(401, "identity-required")
        },
        Row("sessions that the proxy refuses", .sessions, .wrong, "403 without a problem") {
            $0.sessionRefusal = .page(403)
        },
        Row("sessions", .sessions, .ok) { $0.roundTrips = [.milliseconds(3)] },
        Row("problem documents", .refusals, .ok, "401") {
            $0.refusals = [ExaminedRefusal(request: "GET /a", status: 401, exchange: .problem(401, "unauthorized"))]
        },
        Row("pages", .refusals, .wrong, "GET /a: 401 without a problem document (text/html)") {
            $0.refusals = [ExaminedRefusal(request: "GET /a", status: 401, exchange: .page(401))]
        },
        Row("fields that arrive", .requestFields, .ok, "Last-Event-ID, Idempotency-Key, Sec-Fetch-Site") {
            ($0.lastEventIDArrived, $0.longKey) = (true, .problem(400, "bad-request"))
            $0.foreignSite = .problem(403, "cross-site")
        },
        Row("fields that are lost", .requestFields, .wrong, "Last-Event-ID and Idempotency-Key did not") {
            ($0.lastEventIDArrived, $0.longKey) = (false, .problem(422, "invalid-intent"))
        },
        Row("one tag", .entityTags, .ok) {
            $0.tags = TagSample(plain: #""a.1""#, compressed: #""a.1""#, conditional: 304)
        },
        Row("a tag that compression changes", .entityTags, .wrong, #"W/"a.1""#) {
            $0.tags = TagSample(plain: #""a.1""#, compressed: #"W/"a.1""#, conditional: 304)
        },
        Row("a state that is too small to be compressed", .entityTags, .warning, "gzip") {
            $0.tags = TagSample(plain: #""a.1""#, compressed: #""a.1""#, conditional: 304, jsonEncoding: "gzip")
        },
        Row("a tag that does not match", .entityTags, .wrong, "got 200") {
            $0.tags = TagSample(plain: #""a.1""#, compressed: #""a.1""#, conditional: 200)
        },
        Row("a large body that the server refuses itself", .bodySize, .ok) {
            $0.bodies = [(1_048_577, .problem(413, "body-too-large"))]
        },
        Row("a large body that the proxy refuses", .bodySize, .warning, "413 without a problem") {
            $0.bodies = [(1_048_577, .page(413)), (1_048_576, .problem(422, "invalid-intent"))]
        },
        Row("a refused body below the server's limit", .bodySize, .wrong, "one of 65536 bytes reached") {
            $0.bodies = [(1_048_577, .page(413)), (1_048_576, .page(413)), (65_536, .problem(422, "invalid-intent"))]
        },
        Row("sizes where no problem document arrives", .bodySize, .notMeasured) {
            $0.refusals = [ExaminedRefusal(request: "GET /a", status: 401, exchange: .page(401))]
            $0.bodies = [(1_048_577, .page(413))]
        },
        Row("no body at all", .bodySize, .wrong, "did not reach") { $0.bodies = [(1_024, .page(413))] },
    ]

    static let clients: [Row] = [
        Row("no diagnostics", .upstream, .notMeasured) { _ in },
        Row("persistent connections", .upstream, .ok) { $0.arrival = RequestArrival() },
        Row("closed connections", .upstream, .warning) { $0.arrival = RequestArrival(keepsConnection: false) },
        Row("HTTP/1.0", .upstream, .wrong) { $0.arrival = RequestArrival(http: "1.0", keepsConnection: false) },
        Row("a reported address", .clientAddress, .ok, "203.0.113.9") {
            $0.arrival = RequestArrival(client: "203.0.113.9")
            $0.forgedArrival = RequestArrival(client: "203.0.113.9")
        },
        Row("an address that a client chooses", .clientAddress, .wrong, "can forge") {
            $0.arrival = RequestArrival(client: "203.0.113.9")
            $0.forgedArrival = RequestArrival(client: "192.0.2.77", clientIsTrusted: false)
        },
        Row("a list of trusted proxies with every address", .clientAddress, .wrong, "can forge") {
            $0.arrival = RequestArrival(client: "loopback", clientIsTrusted: true)
            $0.forgedArrival = RequestArrival(client: "192.0.2.77", clientIsTrusted: true)
        },
        Row("doctor on a trusted proxy", .clientAddress, .notMeasured, "listed in --trusted-proxy") {
            $0.arrival = RequestArrival(client: "loopback", clientIsTrusted: true)
            $0.forgedArrival = RequestArrival(client: "192.0.2.77", clientIsTrusted: false)
        },
        Row("an untrusted proxy", .clientAddress, .wrong, "does not trust the proxy") {
            $0.arrival = RequestArrival(forwarded: "untrusted")
        },
        Row("a proxy that reports nothing", .clientAddress, .wrong, "no X-Forwarded-For") {
            $0.arrival = RequestArrival(forwarded: "missing")
        },
        Row("two fields that contradict", .clientAddress, .wrong, "contradicts") {
            $0.arrival = RequestArrival(forwarded: "unclear")
        },
        Row("TLS, and no sign of a proxy", .clientAddress, .wrong, "There is a proxy") {
            $0.arrival = RequestArrival(forwarded: "none")
        },
        Row("no TLS, and no sign of a proxy", .clientAddress, .ok, url: "http://mvi.example.com") {
            $0.arrival = RequestArrival(forwarded: "none")
        },
        Row("nginx without TLS", .clientAddress, .wrong, url: "http://mvi.example.com") {
            ($0.arrival, $0.serverField) = (RequestArrival(forwarded: "none"), "nginx/1.22.1")
        },
        Row("an unknown answer", .clientAddress, .notMeasured) { $0.arrival = RequestArrival(forwarded: "new") },
        Row("origins that are distinguished", .origin, .ok, "is refused") {
            ($0.ownOrigin, $0.foreignOrigin) = (.problem(404, "feature-not-found"), .problem(403, "cross-site"))
        },
        Row("its own origin refused", .origin, .wrong, "https://mvi.example.com") {
            $0.ownOrigin = .problem(403, "cross-site")
        },
        Row("another origin accepted", .origin, .wrong, "did not see it") {
            ($0.ownOrigin, $0.foreignOrigin) = (.problem(422, "invalid-intent"), .problem(422, "invalid-intent"))
        },
        Row("an origin where no problem document arrives", .origin, .notMeasured) {
            $0.refusals = [ExaminedRefusal(request: "GET /a", status: 401, exchange: .page(401))]
            $0.ownOrigin = .page(422)
        },
        Row("a POST that the proxy refuses", .origin, .wrong, "did not reach") { $0.ownOrigin = .page(403) },
        Row("a cookie of TLS", .cookie, .ok, "__Host-") {
            $0.cookie = CookieSample(
                made: .cookie("__Host-mvi_session_8443=a; Path=/; HttpOnly; SameSite=Lax; Secure"), used: .json("{}"))
        },
        Row("a cookie without Secure", .cookie, .wrong, "neither") {
            $0.cookie = CookieSample(made: .cookie("mvi_session=a; Path=/; HttpOnly"), used: .json("{}"))
        },
        Row("a Secure cookie without TLS", .cookie, .wrong, "browsers refuse", url: "http://mvi.example.com") {
            $0.cookie = CookieSample(made: .cookie("__Host-mvi_session=a; Path=/; Secure"), used: .json("{}"))
        },
        Row("a cookie of another path", .cookie, .wrong, "path=/app") {
            $0.cookie = CookieSample(made: .cookie("__Host-mvi_session=a; Path=/app; Secure"), used: .json("{}"))
        },
        Row("a cookie that is lost", .cookie, .wrong, "Set-Cookie") {
            $0.cookie = CookieSample(made: .json("{}"), used: nil)
        },
        Row("a cookie that does not arrive", .cookie, .wrong, "401 unauthorized") {
            $0.cookie = CookieSample(
                made: .cookie("__Host-mvi_session=a; Path=/; Secure"), used: .problem(401, "unauthorized"))
        },
        Row("one time", .clock, .ok, "0.0 to +1.0 s") {
            $0.dated = [dated("Thu, 01 Jan 1970 00:01:40 GMT", sent: 100, received: 100)]
        },
        Row("a slow answer is less precise", .clock, .ok) {
            $0.dated = [dated("Thu, 01 Jan 1970 00:01:40 GMT", sent: 90, received: 110)]
        },
        Row("ten seconds ahead", .clock, .warning, "ahead of") {
            $0.dated = [dated("Thu, 01 Jan 1970 00:01:40 GMT", sent: 90, received: 90)]
        },
        Row("a minute behind", .clock, .wrong, "behind") {
            $0.dated = [dated("Thu, 01 Jan 1970 00:01:40 GMT", sent: 160, received: 160)]
        },
        Row("a malformed date", .clock, .notMeasured) { $0.dated = [dated("yesterday", sent: 1, received: 1)] },
    ]

    @Test("each row of the table", arguments: streams + requests + clients)
    func judges(row: Row) throws {
        var measured = Measurements(try #require(ServerAddress(row.url)))
        row.change(&measured)
        let finding = try #require(ProxyChecks.findings(measured).first { $0.check == row.check })
        #expect(finding.verdict == row.verdict, "\(finding.measured)")
        #expect(row.words.isEmpty || finding.measured.contains(row.words), "\(finding.measured)")
        #expect(finding.advice != nil || finding.verdict != .wrong, "no advice for what is wrong")
    }

    @Test("every check has a finding, also without measurements")
    func nothing() throws {
        let measured = Measurements(try #require(ServerAddress("https://mvi.example.com")))
        let findings = ProxyChecks.findings(measured)
        #expect(findings.map(\.check) == Check.allCases)
        #expect(!findings.contains { $0.verdict == .warning })
    }
}
