/// The result of one check.
struct Finding: Sendable {
    var check: Check
    var verdict: Verdict
    /// The measurement with figures, or the reason for its absence.
    var measured: String
    /// The change to make; nil if none is needed.
    var advice: Advice?

    init(_ check: Check, _ verdict: Verdict, _ measured: String, _ advice: Advice? = nil) {
        (self.check, self.verdict, self.measured, self.advice) = (check, verdict, measured, advice)
    }
}

enum Verdict: String, Sendable {
    case ok
    /// It works, but could work better, or works only for some clients.
    case warning
    case wrong
    case notMeasured = "not measured"
}

/// The checks, in the order of a report.
enum Check: String, Sendable, CaseIterable {
    case health
    case sessions
    case refusals
    case http2 = "http/2"
    case streamsTogether = "streams together"
    case buffering
    case compression
    case silence
    case upstream
    case clientAddress = "client address"
    case origin
    case cookie
    case requestFields = "request fields"
    case entityTags = "entity tags"
    case bodySize = "body size"
    case clock
}

/// A change and its place.
struct Advice: Sendable {
    var text: String
    /// The lines for the settings of each proxy.
    var lines: [Proxy: String]

    init(_ text: String, nginx: String? = nil, haproxy: String? = nil, apache: String? = nil) {
        self.text = text
        lines = [.nginx: nginx, .haproxy: haproxy, .apache: apache].compactMapValues { $0 }
    }
}

enum Proxy: String, Sendable, CaseIterable {
    case nginx
    case haproxy = "HAProxy"
    case apache = "Apache"

    /// The proxy that an answer's `Server` field names. HAProxy does not write the field.
    init?(serverField: String?) {
        let text = serverField?.lowercased() ?? ""
        if text.hasPrefix("nginx") {
            self = .nginx
        } else if text.hasPrefix("apache") {
            self = .apache
        } else {
            return nil
        }
    }
}

/// Judges measurements with a pure function for each check.
enum ProxyChecks {
    /// Returns a finding for each check, in order.
    static func findings(_ measured: Measurements) -> [Finding] {
        Check.allCases.map { check in
            switch check {
            case .health: health(measured)
            case .sessions: sessions(measured)
            case .refusals: refusals(measured)
            case .http2: http2(measured)
            case .streamsTogether: streamsTogether(measured)
            case .buffering: buffering(measured)
            case .compression: compression(measured)
            case .silence: silence(measured)
            case .upstream: upstream(measured)
            case .clientAddress: clientAddress(measured)
            case .origin: origin(measured)
            case .cookie: cookie(measured)
            case .requestFields: requestFields(measured)
            case .entityTags: entityTags(measured)
            case .bodySize: bodySize(measured)
            case .clock: clock(measured)
            }
        }
    }

    /// The text of an exchange for a report: `200`, `403 without a problem document`, `no answer: …`.
    static func words(_ exchange: Attempt) -> String {
        switch exchange {
        case .failure(let reason): return "no answer: \(reason)"
        case .answer(let answer):
            if let problem = answer.problem { return "\(answer.status) \(problem)" }
            guard answer.status >= 400 else { return "\(answer.status)" }
            return "\(answer.status) without a problem document (\(Readable.text(answer["content-type"] ?? "no type")))"
        }
    }
}

/// Formats figures and foreign text for people.
enum Readable {
    /// `0.2 ms`, `35 ms`, `3.1 s`.
    static func time(_ time: Duration) -> String {
        let milliseconds = time.milliseconds
        if abs(milliseconds) < 10 { return "\((milliseconds * 10).rounded() / 10) ms" }
        if abs(milliseconds) < 1_000 { return "\(Int(milliseconds.rounded())) ms" }
        return "\((milliseconds / 100).rounded() / 10) s"
    }

    /// Text of another machine for one line of a terminal: printable ASCII, shortened.
    static func text(_ text: String) -> String {
        let bytes = text.utf8.prefix(120).map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `1 event`, `2 events`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}

extension Duration {
    var milliseconds: Double {
        Double(components.seconds) * 1_000 + Double(components.attoseconds) / 1e15
    }
}

extension [Duration] {
    /// The median; nil without values.
    var median: Duration? { isEmpty ? nil : sorted()[count / 2] }
}
