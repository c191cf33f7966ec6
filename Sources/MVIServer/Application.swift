import MicroHTTP
import Sessions

/// Everything between a request and its answer: finds the route, checks the head, answers.
///
/// Knows no socket; tests call it in memory.
final class Application: Sendable {
    /// What is decided by a request's head.
    enum Verdict: Sendable {
        case refuse(Response)
        case accept(Call)
    }

    private let router: Router
    private let crossSite: CrossSiteRule
    private let credentials: Credentials
    private let sessionOperations: SessionOperations
    private let featureOperations: FeatureOperations
    private let stateOperations: StateOperations
    private let intentOperations: IntentOperations
    private let streamOperations: StreamOperations
    private let healthOperations: HealthOperations
    private let documentOperations: DocumentOperations

    /// - Parameter routes: those to serve; an admin port has fewer.
    init(
        _ sessions: SessionTable, _ settings: ServerSettings, page: [PageResource] = [],
        routes: [Route] = Route.table
    ) {
        router = Router(routes, files: page.map(\.path))
        crossSite = CrossSiteRule(publicURL: settings.publicURL, allowedOrigins: settings.allowedOrigins)
        let cookies = CookiePolicy(
            isSecure: settings.publicURL?.isSecure == true, sessionLife: settings.sessionLife)
        credentials = Credentials(sessions: sessions, cookies: cookies)
        sessionOperations = SessionOperations(
            sessions: sessions, credentials: credentials, crossSite: crossSite, bodyLimit: settings.bodyLimit)
        featureOperations = FeatureOperations(sessions.environment.features)
        stateOperations = StateOperations(sessions: sessions, crossSite: crossSite)
        intentOperations = IntentOperations(
            sessions: sessions, credentials: credentials, crossSite: crossSite, bodyLimit: settings.bodyLimit)
        streamOperations = StreamOperations(sessions: sessions, credentials: credentials, crossSite: crossSite)
        healthOperations = HealthOperations(sessions: sessions)
        documentOperations = DocumentOperations(page)
    }

    func receive(_ head: RequestHead) -> Verdict {
        var terms = terms(of: head)
        do throws(Problem) {
            switch router.route(method: head.method, path: head.path) {
            case .found(let operation, let method, let parameter, let allow):
                let incoming = Incoming(head: head, isHead: method == .head, parameter: parameter)
                return try prepare(operation, incoming, allow: allow, &terms)
            case .unknownMethod(let allow):
                var problem = Problem(.methodNotAllowed, "The method is none of those that this path has: \(allow).")
                problem.fields = [ResponseField("Allow", allow)]
                throw problem
            case .unknownPath:
                // The server as a whole (RFC 9110 section 9.3.7).
                if head.path == [UInt8(ascii: "*")], head.method == Method.options.rawValue {
                    return .refuse(terms.finish(options(head, allow: Router.everyMethod)))
                }
                throw Problem(.notFound, "Nothing has this path; /openapi.yaml lists every path there is.")
            }
        } catch {
            return .refuse(terms.response(to: error))
        }
    }

    /// The HTTP layer's own refusals, worded as the others.
    func response(to fault: RequestFault, head: RequestHead?) -> Response {
        guard let head else { return Problem(fault).response(instance: []) }
        var terms = terms(of: head)
        var problem = Problem(fault)
        if case .found(let operation, _, let parameter, _) = router.route(method: head.method, path: head.path) {
            terms.vary = operation.problemsVary
            if operation == .sendIntent, problem.type == .bodyTooLarge {
                problem = intentOperations.cutOff(Incoming(head: head, isHead: false, parameter: parameter), problem)
            }
        }
        return terms.response(to: problem)
    }

    private func terms(of head: RequestHead) -> Reply.Terms {
        Reply.Terms(
            path: head.path, origin: crossSite.listedOrigin(head.fields),
            variesByOrigin: !crossSite.allowedOrigins.isEmpty, cookie: nil)
    }

    private func prepare(
        _ operation: Operation, _ incoming: Incoming, allow: String, _ terms: inout Reply.Terms
    ) throws(Problem) -> Verdict {
        let answer: Call.Answer
        terms.vary = operation.problemsVary
        switch operation {
        case .createSession: answer = try sessionOperations.create(incoming)
        case .listFeatures: answer = { [self] _, reply in featureOperations.list(reply) }
        case .describeFeature: answer = try featureOperations.describe(incoming)
        case .reportLiveness: answer = { [self] _, reply in healthOperations.live(reply) }
        case .reportReadiness: answer = { [self] _, reply in healthOperations.ready(reply) }
        case .readOpenAPI: answer = { [self] _, reply in documentOperations.readOpenAPI(incoming, reply) }
        case .explainProblem: answer = try documentOperations.explain(incoming)
        case .readPage, .readFile: answer = try documentOperations.readFile(incoming)
        case .describeOptions:
            let response = options(incoming.head, allow: allow)
            answer = { _, reply in reply.answer(response) }
        case .describeSession, .endSession, .readState, .disposeStore, .sendIntent, .streamFeature, .streamSession:
            do throws(Problem) {
                switch try credentials.caller(incoming.fields) {
                case .known(let caller):
                    terms.cookie = caller.refresh
                    answer = try prepare(operation, incoming, caller)
                case .pending(let pending):
                    answer = { body, reply in
                        pending.lookup.whenReady { [self] found in
                            resume(operation, incoming, pending, found, body, reply)
                        }
                    }
                }
            } catch {
                return .refuse(terms.finish(try response(operation, incoming, insteadOf: error)))
            }
        }
        return .accept(Call(terms: terms, answer: answer))
    }

    /// Goes on with a request whose session had to be looked up.
    private func resume(
        _ operation: Operation, _ incoming: Incoming, _ pending: PendingCaller, _ found: SessionLookup,
        _ body: [UInt8], _ reply: Reply
    ) {
        var terms = reply.terms
        do throws(Problem) {
            let caller = try credentials.caller(found, pending.token, isByCookie: pending.isByCookie)
            terms.cookie = caller.refresh
            let answer = try prepare(operation, incoming, caller)
            answer(body, Reply(terms: terms, send: reply.send))
        } catch {
            do throws(Problem) {
                reply.send(terms.finish(try response(operation, incoming, insteadOf: error)))
            } catch {
                reply.send(terms.response(to: error))
            }
        }
    }

    /// What a stream is answered in place of a problem; throws the problem where that is the answer.
    private func response(
        _ operation: Operation, _ incoming: Incoming, insteadOf problem: Problem
    ) throws(Problem) -> Response {
        guard operation == .streamFeature || operation == .streamSession else { throw problem }
        return try streamOperations.answer(insteadOf: problem, incoming)
    }

    private func prepare(
        _ operation: Operation, _ incoming: Incoming, _ caller: Caller
    ) throws(Problem) -> Call.Answer {
        switch operation {
        case .streamFeature: return try streamOperations.ofFeature(incoming, caller)
        case .streamSession: return try streamOperations.ofSession(incoming, caller)
        case .endSession:
            try crossSite.check(incoming.fields)
            return sessionOperations.end(caller)
        case .readState: return try stateOperations.read(incoming, caller)
        case .disposeStore: return try stateOperations.dispose(incoming, caller)
        case .sendIntent: return try intentOperations.send(incoming, caller)
        default: return sessionOperations.describe(caller)
        }
    }

    /// `Allow`, and the answer to a CORS preflight, which asks without a credential.
    private func options(_ head: RequestHead, allow: String) -> Response {
        var fields = [ResponseField("Allow", allow), ResponseField("Cache-Control", "no-store"), AnswerFields.noSniff]
        if head.fields.contains("access-control-request-method"), crossSite.listedOrigin(head.fields) != nil {
            fields += [
                ResponseField("Access-Control-Allow-Methods", allow),
                ResponseField("Access-Control-Allow-Headers", CORS.allowed),
                ResponseField("Access-Control-Max-Age", CORS.maxAge),
            ]
        }
        if !crossSite.allowedOrigins.isEmpty {
            fields.append(
                ResponseField("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"))
        }
        return Response(status: 204, fields: fields)
    }
}
