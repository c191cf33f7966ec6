import MicroHTTP
import Sessions
import WireJSON

/// A refusal of one request.
package struct Problem: Error, Sendable {
    /// An invalid place in the body.
    struct Issue: Sendable, Equatable {
        /// A JSON Pointer (RFC 6901), empty for the whole body.
        let pointer: String
        /// The expected and the found value.
        let detail: String
    }

    let type: ProblemType
    /// A sentence for the client's author, without names of Swift types, paths of files and stack traces.
    let detail: String
    var issues: [Issue] = []
    /// The name of the refusal that clients switch over; nil if it has none.
    var code: String?
    /// Additional header fields of the answer, such as `Retry-After`.
    var fields: [ResponseField] = []

    init(_ type: ProblemType, _ detail: String) {
        self.type = type
        self.detail = detail
    }

    /// A temporary problem with `Retry-After` in whole seconds, at least one (RFC 9110 section 10.2.3).
    init(_ type: ProblemType, _ detail: String, retryAfter: Duration) {
        self.init(type, detail)
        let (seconds, rest) = retryAfter.components
        fields = [ResponseField("Retry-After", "\(max(1, rest > 0 ? seconds + 1 : seconds))")]
    }

    /// A request beyond a rate (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/).
    ///
    /// - Parameters:
    ///   - policy: the name of the counter.
    ///   - wait: the time until the next request is allowed.
    init(_ policy: String, _ rate: Rate, _ wait: Duration, _ detail: String) {
        self.init(.tooManyRequests, detail, retryAfter: wait)
        let seconds = fields.first?.value ?? "1"
        fields.append(
            ResponseField("RateLimit-Policy", "\"\(policy)\";q=\(rate.burst);w=\(rate.burst / rate.perSecond)"))
        fields.append(ResponseField("RateLimit", "\"\(policy)\";r=0;t=\(seconds)"))
    }

    /// `application/problem+json`, RFC 9457.
    ///
    /// - Parameter instance: the requested path, for readers of logs; nil if none was read.
    func body(instance: [UInt8]?) -> [UInt8] {
        var object = JSONObject()
        object.add("type", type.reference)
        object.add("title", type.title)
        object.add("status", type.status)
        object.add("detail", detail)
        if let code { object.add("code", code) }
        if let instance { object.add("instance", PercentEncoding.reference(instance)) }
        if !issues.isEmpty {
            object.add(
                "errors",
                array: issues.map { issue in
                    var object = JSONObject()
                    object.add("pointer", issue.pointer)
                    object.add("detail", issue.detail)
                    return object.close()
                })
        }
        return object.close()
    }

    /// The answer, without the header fields that depend on the request's origin.
    func response(instance: [UInt8]?) -> Response {
        var fields = self.fields
        fields.append(ResponseField("Content-Type", "application/problem+json"))
        fields.append(ResponseField("Cache-Control", "no-store"))
        fields += [AnswerFields.noSniff, AnswerFields.sameOrigin]
        // RFC 9110 section 15.5.2: a 401 says how to authenticate.
        if type.status == 401 { fields.append(ResponseField("WWW-Authenticate", "Bearer realm=\"mvi\"")) }
        var response = Response(status: type.status, fields: fields, body: .bytes(body(instance: instance)))
        response.mark(problem: type.name)
        return response
    }
}
