import CoreMetrics
import Logging
import MicroHTTP
import Tracing

/// Records metrics for all requests and, if enabled, a span and an access log line for each.
final class RequestObserver: Sendable {
    private let metrics: RequestMetrics
    private let tracer: (any Tracer)?
    private let accessLog: AccessLog?
    private let addresses: ClientAddress

    init(_ metrics: RequestMetrics, tracer: (any Tracer)?, accessLog: AccessLog?, _ addresses: ClientAddress) {
        (self.metrics, self.tracer, self.accessLog, self.addresses) = (metrics, tracer, accessLog, addresses)
    }

    /// Begins a request with a known route. Returns nil without tracing and access log.
    func begin(_ head: RequestHead, _ route: Route) -> RequestNote? {
        guard let tracer else { return accessLog == nil ? nil : RequestNote(head, span: nil) }
        var context = ServiceContext.topLevel
        tracer.extract(
            head.fields, into: &context, using: FieldExtractor(isFromProxy: addresses.isTrusted(head.peer)))
        // OpenTelemetry's semantic conventions for HTTP spans.
        let span = tracer.startAnySpan("\(head.method) \(route.path)", context: context, ofKind: .server)
        span.attributes["http.request.method"] = head.method
        span.attributes["http.route"] = route.path
        span.attributes["url.path"] = String(decoding: head.path, as: UTF8.self)
        return RequestNote(head, span: span)
    }

    func answered(_ answer: RequestAnswer) {
        metrics.note(answer)
        guard tracer != nil || accessLog != nil else { return }
        let note = answer.note as? RequestNote
        let problem = AnswerMark(answer.mark).problemIndex.map { ProblemType.all[$0].name }
        note?.end(answer.status, problem: problem)
        accessLog?.log(answer, note, problem: problem)
    }
}

/// Reads `traceparent` and the tracer's other fields. Any client may send them: repeated, malformed and too long fields
/// are ignored.
private struct FieldExtractor: Extractor {
    /// The maximal length of a field (https://www.w3.org/TR/trace-context/#tracestate-limits).
    private static let longest = 512

    let isFromProxy: Bool

    func extract(key: String, from fields: HeaderFields) -> String? {
        let key = key.lowercased()
        switch key {
        case "traceparent": return TraceParent(fields)?.text
        // `tracestate` is valid only with `traceparent`.
        case "tracestate" where TraceParent(fields) == nil: return nil
        // Other services may act on baggage (https://www.w3.org/TR/baggage/#security-considerations).
        case "baggage" where !isFromProxy: return nil
        default:
            let values = fields.values(named: key)
            return values.count == 1 && values[0].utf8.count <= Self.longest ? values[0] : nil
        }
    }
}

/// A request's `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header); nil if there is none or it is
/// malformed.
private struct TraceParent {
    let text: String
    /// 32 lowercase hexadecimal digits.
    let trace: Substring

    init?(_ fields: HeaderFields) {
        let values = fields.values(of: "traceparent")
        guard values.count == 1, values[0].utf8.count <= 128 else { return nil }
        let parts = values[0].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4 || parts.count > 4 && parts[0] != "00",
            zip(parts, [2, 32, 16, 2]).allSatisfy({ Self.isHexadecimal($0, $1) }), parts[0] != "ff",
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        (text, trace) = (values[0], parts[1])
    }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// Logs one line for each answer, in the format of the other log lines. It is not limited.
struct AccessLog: Sendable {
    private let logger: Logger
    private let addresses: ClientAddress

    init(_ logger: Logger, _ addresses: ClientAddress) { (self.logger, self.addresses) = (logger, addresses) }

    func log(_ answer: RequestAnswer, _ note: RequestNote?, problem: String?) {
        var metadata: Logger.Metadata = [
            "status": "\(answer.status)", "ms": "\(Self.milliseconds(answer.nanoseconds))",
            "bytes": answer.isStream ? "stream" : "\(answer.bodyBytes)",
        ]
        if let head = answer.head {
            metadata["method"] = "\(head.method)"
            // Without the query, which may be private to the client.
            metadata["path"] = "\(String(decoding: head.path, as: UTF8.self))"
            metadata["client"] = "\(addresses.of(head))"
            if let parent = TraceParent(head.fields) { metadata["trace"] = "\(parent.trace)" }
        }
        if let problem { metadata["problem"] = "\(problem)" }
        if let note {
            let names = note.known
            metadata["request"] = "\(note.id)"
            if let session = names.session { metadata["session"] = "\(session)" }
            if let feature = names.feature { metadata["feature"] = "\(feature)" }
            if let intent = names.intent { metadata["intent"] = "\(intent)" }
        }
        logger.info("Answered", metadata: metadata)
    }

    /// Milliseconds with three decimal places.
    private static func milliseconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds / 1_000) / 1_000 }
}
