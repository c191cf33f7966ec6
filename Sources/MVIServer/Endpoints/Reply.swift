import MicroHTTP

/// The way back to one request's client.
struct Reply: Sendable {
    /// A request whose head was judged well, on its way to its body. A class, so that the closures it goes through take one
    /// reference along.
    final class Request: Sendable {
        let terms: ResponseContext
        private let answer: Route.Answer

        init(_ terms: ResponseContext, _ answer: @escaping Route.Answer) {
            self.terms = terms
            self.answer = answer
        }

        /// Has the request answered, now that its body is there.
        func handle(_ body: [UInt8], _ send: @escaping @Sendable (Response) -> Void) {
            answer(body, Reply(request: self, send: send))
        }
    }

    private let request: Request
    /// Sends the answer; once.
    let send: @Sendable (Response) -> Void

    private init(request: Request, send: @escaping @Sendable (Response) -> Void) {
        self.request = request
        self.send = send
    }

    var terms: ResponseContext { request.terms }

    func answer(_ response: Response) { send(terms.finish(response)) }

    func refuse(_ problem: Problem) { send(terms.response(to: problem)) }
}

/// The properties of an answer that follow from the request's head.
struct ResponseContext: Sendable {
    /// The path as it was asked for, for problems.
    let path: [UInt8]
    /// The request's `Origin` if its page may read the answer.
    let origin: String?
    /// True if answers differ by `Origin` although no session is behind them.
    let variesByOrigin: Bool
    /// A cookie to set anew.
    var cookie: ResponseField?
    /// The headers that problems of a session vary by; other answers set their own.
    var vary: String?
    /// The route's number, for the metrics; 0 as long as none is found.
    var route: UInt8 = 0
    /// Nil where nobody wants to know more of the request than its answer.
    var note: RequestNote?

    func response(to problem: Problem) -> Response {
        var response = problem.response(instance: path)
        if let vary { response.fields.append(ResponseField("Vary", vary)) }
        return finish(response)
    }

    /// CORS (https://fetch.spec.whatwg.org/#http-cors-protocol): never with credentials, since such pages send a
    /// bearer token of their own.
    func finish(_ response: Response) -> Response {
        var response = response
        response.mark |= UInt16(route)
        if let note { response.note = note }
        guard origin != nil || variesByOrigin || cookie != nil else { return response }
        func has(_ name: String) -> Bool { response.fields.contains { $0.name == name } }
        if let cookie, !has(cookie.name) { response.fields.append(cookie) }
        if variesByOrigin, !has("Vary") { response.fields.append(ResponseField("Vary", "Origin")) }
        if let origin {
            response.fields.append(ResponseField("Access-Control-Allow-Origin", origin))
            response.fields.append(ResponseField("Access-Control-Expose-Headers", CORS.exposed))
        }
        return response
    }
}

/// The headers for pages of other origins.
enum CORS {
    static let allowed =
        "Authorization, Content-Type, Last-Event-ID, Idempotency-Key, Intent-Seq, Intent-Epoch, MVI-Session, "
        + "If-Match, If-None-Match, Prefer, traceparent"
    static let exposed =
        "ETag, Location, Preference-Applied, Retry-After, Idempotency-Replayed, Expected-Seq"
    /// For how long a browser need not ask again, in seconds.
    static let maxAge = "600"
}
