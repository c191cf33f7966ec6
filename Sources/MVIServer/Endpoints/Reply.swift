import MicroHTTP

/// Sends the answer to a request.
struct Reply: Sendable {
    /// A request whose head was accepted and whose body follows. A class, so that closures capture a single reference.
    final class Request: Sendable {
        let terms: ResponseContext
        private let answer: Route.Answer

        init(_ terms: ResponseContext, _ answer: @escaping Route.Answer) {
            self.terms = terms
            self.answer = answer
        }

        /// Answers the request after its body has arrived.
        func handle(_ body: [UInt8], _ send: @escaping @Sendable (Response) -> Void) {
            answer(body, Reply(request: self, send: send))
        }
    }

    private let request: Request
    /// Sends the answer. Called once.
    let send: @Sendable (Response) -> Void

    private init(request: Request, send: @escaping @Sendable (Response) -> Void) {
        self.request = request
        self.send = send
    }

    var terms: ResponseContext { request.terms }

    func answer(_ response: Response) { send(terms.finish(response)) }

    func refuse(_ problem: Problem) { send(terms.response(to: problem)) }
}

/// The data of a request's head for its answer.
struct ResponseContext: Sendable {
    /// The requested path, for problems.
    let path: [UInt8]
    /// The request's `Origin` if its page may read the answer.
    let origin: String?
    /// True if answers without a session vary by `Origin`.
    let variesByOrigin: Bool
    /// True for the admin port: pages of other origins can neither load its answers nor keep hold of their window.
    var isAdmin = false
    /// Fields of a new cookie.
    var cookies: [ResponseField] = []
    /// The `Vary` field for problems with a session; other answers have their own.
    var vary: String?
    /// The route's number, for the metrics; 0 before it is found.
    var route: UInt8 = 0
    /// Nil without tracing and access log.
    var note: RequestNote?

    func response(to problem: Problem) -> Response {
        var response = problem.response(instance: path)
        if let vary { response.fields.append(ResponseField("Vary", vary)) }
        return finish(response)
    }

    /// Adds CORS fields (https://fetch.spec.whatwg.org/#http-cors-protocol). Credentials are never allowed: listed
    /// pages send a bearer token.
    func finish(_ response: Response) -> Response {
        var response = response
        response.mark |= UInt16(route)
        if let note { response.note = note }
        func has(_ name: String) -> Bool { response.fields.contains { $0.name == name } }
        // Browsers ignore a policy that is there twice.
        if isAdmin { response.fields += AnswerFields.isolated.filter { !has($0.name) } }
        guard origin != nil || variesByOrigin || !cookies.isEmpty else { return response }
        if !cookies.isEmpty, !has("Set-Cookie") { response.fields += cookies }
        if variesByOrigin, !has("Vary") { response.fields.append(ResponseField("Vary", "Origin")) }
        if let origin {
            response.fields.append(ResponseField("Access-Control-Allow-Origin", origin))
            response.fields.append(ResponseField("Access-Control-Expose-Headers", CORS.exposed))
        }
        return response
    }
}

/// The fields that pages of other origins may send and read.
enum CORS {
    static let allowed =
        "Authorization, Content-Type, Last-Event-ID, Idempotency-Key, Intent-Seq, Intent-Epoch, MVI-Session, "
        + "If-Match, If-None-Match, Prefer, Cache-Control, traceparent, tracestate, baggage"
    static let exposed =
        "ETag, Location, Preference-Applied, Retry-After, Idempotency-Replayed, Expected-Seq, MVI-Stale"
    /// The time for which browsers cache a preflight, in seconds.
    static let maxAge = "600"
}
