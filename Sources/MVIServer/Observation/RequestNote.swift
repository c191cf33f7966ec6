import Locking
import MVI
import MicroHTTP
import Tracing

/// The data of one request for the access log and its span. Nil without both.
final class RequestNote: Sendable {
    struct Names {
        var session: String?
        var feature: String?
        var intent: String?
    }

    /// The `X-Request-Id` of the client or proxy if it is a short plain word, else a random id. Any client may choose
    /// it: it finds a request's log lines and proves nothing.
    let id: String
    private let span: (any Span)?
    private let names = Lock(Names())
    private let isOver = Lock(false)

    init(_ head: RequestHead, span: (any Span)?) {
        let given = head.fields["x-request-id"].flatMap { Self.isPlain($0) ? $0 : nil }
        id = given ?? String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
        self.span = span
    }

    /// Ends a request without an answer, because its client disconnected.
    deinit { end(nil) }

    /// The span that the request's intent belongs to.
    var trace: ServiceContext? { span?.context }

    var known: Names { names.withLock { $0 } }

    func note(_ change: (inout Names) -> Void) { names.withLock { change(&$0) } }

    /// Ends the span; once.
    ///
    /// - Parameter status: the answer's status; nil if there is none.
    func end(_ status: Int?, problem: String? = nil) {
        guard let span else { return }
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        guard isFirst else { return }
        let names = known
        span.attributes["mvi.request"] = id
        if let session = names.session { span.attributes["mvi.session"] = session }
        if let feature = names.feature { span.attributes["mvi.feature"] = feature }
        if let intent = names.intent { span.attributes["mvi.intent"] = intent }
        if let status { span.attributes["http.response.status_code"] = Int64(status) }
        if let problem { span.attributes["error.type"] = problem }
        if status.map({ $0 >= 500 }) ?? false { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }

    private static func isPlain(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._~-:+/=".utf8.contains(byte)
                }
            }
    }
}
