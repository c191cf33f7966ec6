import CoreMetrics
import Logging
import MicroHTTP
import Tracing

/// What is told of requests: metrics of all, a span and a line in the access log of each where they are wanted.
final class RequestObserver: Sendable {
    private let metrics: RequestMetrics
    private let tracer: (any Tracer)?
    private let accessLog: AccessLog?

    init(_ metrics: RequestMetrics, tracer: (any Tracer)?, accessLog: AccessLog?) {
        (self.metrics, self.tracer, self.accessLog) = (metrics, tracer, accessLog)
    }

    /// A request whose route is known; nil if nobody wants to know more of it.
    func begin(_ head: RequestHead, _ route: Route) -> RequestNote? {
        guard let tracer else { return accessLog == nil ? nil : RequestNote(head, span: nil) }
        var context = ServiceContext.topLevel
        tracer.extract(head.fields, into: &context, using: FieldExtractor())
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

/// Reads `traceparent` and what else a tracer's format has (https://www.w3.org/TR/trace-context/).
private struct FieldExtractor: Extractor {
    func extract(key: String, from fields: HeaderFields) -> String? {
        let key = key.lowercased()
        return fields.values(named: key).first
    }
}

/// One line for each answer, in the words of the other log lines. Not bounded as those are: who switches it on wants all.
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
            // Without the query, which may have what a client keeps for itself.
            metadata["path"] = "\(String(decoding: head.path, as: UTF8.self))"
            metadata["client"] = "\(addresses.of(head))"
            if let trace = head.fields["traceparent"].flatMap(Self.traceID) { metadata["trace"] = "\(trace)" }
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

    /// Three places behind the point are enough.
    private static func milliseconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds / 1_000) / 1_000 }

    /// The trace's id in a `traceparent`: 32 small hexadecimal digits after the version; nil if it is none.
    private static func traceID(_ parent: String) -> Substring? {
        let parts = parent.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return parts[1]
    }
}
