import MicroHTTP

/// One endpoint, whole: its place, its callers, its body and its answers. Another one is added in the file of its resource
/// beside this one, and in `openapi.yaml`: tests hold each against the other, and say which refusals no `RefusalCase` shows.
final class Route: Sendable {
    /// The methods of this server. Their case matters (RFC 9110 section 9.1).
    enum Method: String, Sendable, CaseIterable {
        /// `HEAD` is answered by the same endpoint, which looks at `Incoming.isHead`.
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        /// Answered for every path by the application.
        case options = "OPTIONS"
    }

    /// Answers when the body is there, now or later, on any thread.
    typealias Answer = @Sendable (_ body: [UInt8], _ reply: Reply) -> Void

    /// Refuses a path whose parameter names nothing.
    typealias PathCheck = @Sendable (Incoming) throws(Problem) -> Void

    /// The access rule, with the function that judges the request's head before any byte of its body.
    enum Access: Sendable {
        case everyone(@Sendable (Incoming) throws(Problem) -> Answer)
        /// The caller's session is found first.
        case session(@Sendable (Incoming, Caller) throws(Problem) -> Answer)
    }

    /// The `operationId` in `openapi.yaml`.
    let name: String
    let method: Method
    /// `/features/{id}/state`: at most two parameters, each of which is a whole segment.
    let path: String
    /// The check by which `OPTIONS` of the path is refused; nil if every parameter is acceptable. The endpoint itself
    /// checks its parameter later, after the session.
    let checkPath: PathCheck?
    let access: Access
    /// True if it takes a session of which the journal has damaged rows; others answer 503.
    let takesDamaged: Bool
    /// True if it takes somebody whose principal's time is over, and credentials that a sign-in has replaced.
    let takesExpired: Bool
    /// True if it is answered under any name in `Host`, as health checks are: those who probe choose the name, and the
    /// answer is the same for all.
    let takesAnyHost: Bool
    /// The maximum size of the body in bytes.
    let bodyLimit: Int
    /// The headers that refusals vary by; nil without a session.
    let refusalsVary: String?
    /// Returns the answer in place of a problem with the session, or throws the problem.
    let sessionFallback: (@Sendable (Problem, Incoming) throws(Problem) -> Response)?
    /// Returns the problem for a body that the HTTP layer cut off as too large.
    let onBodyTooLarge: (@Sendable (Incoming, Problem) -> Problem)?

    init(
        _ name: String, _ method: Method, _ path: String, checkPath: PathCheck? = nil, bodyLimit: Int = 0,
        takesDamaged: Bool = false, takesExpired: Bool = false, takesAnyHost: Bool = false, refusalsVary: String? = nil,
        sessionFallback: (@Sendable (Problem, Incoming) throws(Problem) -> Response)? = nil,
        onBodyTooLarge: (@Sendable (Incoming, Problem) -> Problem)? = nil, _ access: Access
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.checkPath = checkPath
        self.access = access
        self.bodyLimit = bodyLimit
        self.takesDamaged = takesDamaged
        self.takesExpired = takesExpired
        self.takesAnyHost = takesAnyHost
        if case .session = access {
            self.refusalsVary = refusalsVary ?? AnswerFields.sessionVary
        } else {
            self.refusalsVary = refusalsVary
        }
        self.sessionFallback = sessionFallback
        self.onBodyTooLarge = onBodyTooLarge
    }

    /// An endpoint that answers everyone the same way, whatever the head says.
    convenience init(
        _ name: String, _ path: String, takesAnyHost: Bool = false, answer: @escaping @Sendable (Incoming) -> Response
    ) {
        self.init(
            name, .get, path, takesAnyHost: takesAnyHost,
            .everyone { incoming in { _, reply in reply.answer(answer(incoming)) } })
    }
}
