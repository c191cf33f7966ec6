import MVI
import MicroHTTP

/// An endpoint: path, callers, body and answers. To add one, add it to the file of its resource in this folder and to
/// `openapi.yaml`. Tests compare both and report refusals without a `RefusalCase`.
final class Route: Sendable {
    /// The methods of this server. They are case-sensitive (RFC 9110 section 9.1).
    enum Method: String, Sendable, CaseIterable {
        /// The same endpoint answers `HEAD`; see `Incoming.isHead`.
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        /// The application answers it for every path.
        case options = "OPTIONS"
    }

    /// Answers after the body has arrived, now or later, on any thread.
    typealias Answer = @Sendable (_ body: [UInt8], _ reply: Reply) -> Void

    /// Refuses a path with an invalid parameter.
    typealias PathCheck = @Sendable (Incoming) throws(Problem) -> Void

    /// The allowed callers, with the function that checks the head before the body is read.
    enum Access: Sendable {
        case everyone(@Sendable (Incoming) throws(Problem) -> Answer)
        /// Finds the caller's session first.
        case session(@Sendable (Incoming, Caller) throws(Problem) -> Answer)
    }

    /// The `operationId` in `openapi.yaml`.
    let name: String
    let method: Method
    /// The path, such as `/features/{id}/state`: at most two parameters, each a whole segment.
    let path: String
    /// Checks the path for `OPTIONS`; nil if every parameter is valid. Other methods check the parameter after the
    /// session.
    let checkPath: PathCheck?
    let access: Access
    /// True if the endpoint works with a session that has damaged rows in the journal; others answer 503.
    let takesDamaged: Bool
    /// True if the endpoint accepts expired principals, and credentials that a sign-in has replaced.
    let takesExpired: Bool
    /// True if the endpoint accepts any `Host`, as health checks: probes choose the name, and the answer is the same
    /// for all.
    let takesAnyHost: Bool
    /// The request's access to the feature's instance that the path names, of its session or of a space; nil if it names
    /// none.
    let instanceAccess: MVI.Access?
    /// The maximal size of a body.
    let bodyLimit: Int
    /// The `Vary` field of refusals; nil without a session.
    let refusalsVary: String?
    /// Returns an answer that replaces a problem with the session, or throws the problem.
    let sessionFallback: (@Sendable (Problem, Incoming) throws(Problem) -> Response)?
    /// Returns the problem for a body that the HTTP layer cut off because of its size.
    let onBodyTooLarge: (@Sendable (Incoming, Problem) -> Problem)?

    init(
        _ name: String, _ method: Method, _ path: String, checkPath: PathCheck? = nil, bodyLimit: Int = 0,
        takesDamaged: Bool = false, takesExpired: Bool = false, takesAnyHost: Bool = false,
        instanceAccess: MVI.Access? = nil, refusalsVary: String? = nil,
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
        (self.takesAnyHost, self.instanceAccess) = (takesAnyHost, instanceAccess)
        if case .session = access {
            self.refusalsVary = refusalsVary ?? AnswerFields.sessionVary
        } else {
            self.refusalsVary = refusalsVary
        }
        self.sessionFallback = sessionFallback
        self.onBodyTooLarge = onBodyTooLarge
    }

    /// Creates an endpoint that does not look at the head.
    convenience init(
        _ name: String, _ path: String, takesAnyHost: Bool = false, answer: @escaping @Sendable (Incoming) -> Response
    ) {
        self.init(
            name, .get, path, takesAnyHost: takesAnyHost,
            .everyone { incoming in { _, reply in reply.answer(answer(incoming)) } })
    }
}
