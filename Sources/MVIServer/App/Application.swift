import CoreMetrics
import Logging
import MicroHTTP
import Networks
import SessionJournal
import Sessions

/// Routes requests: finds the endpoint and the caller's session and calls the endpoint.
///
/// Has no socket; tests call it in memory.
package final class Application: RequestHandler {
    let router: Router
    private let sessions: SessionTable
    private let crossSite: CrossSiteRule
    private let hosts: HostRule
    private let credentials: CallerResolver
    private let identity: IdentityRule
    let quotas: AddressQuotas
    private let link: NodeLink?
    private let observer: RequestObserver
    private let isAdmin: Bool

    /// - Parameters:
    ///   - isAdmin: true for the admin port with health checks, metrics and administration.
    ///   - issuers: the authenticator's, for the admin port.
    ///   - link: the connection to other nodes; nil without them.
    ///   - observation: the destination of metrics and traces.
    ///   - accessLog: logs each answer; nil for none.
    package init(
        _ sessions: SessionTable, _ settings: ServerSettings, page: [PageResource] = [], isAdmin: Bool = false,
        endpoints: [Endpoint] = [], authenticator: (any Authenticator)? = nil, issuers: [String] = [],
        monitor: PartsMonitor? = nil,
        link: NodeLink? = nil, observation: ServerObservation = ServerObservation(), accessLog: Logger? = nil,
        logger: Logger? = nil
    ) throws {
        let crossSite = CrossSiteRule(
            publicURL: settings.publicURL, allowedOrigins: isAdmin ? [] : settings.allowedOrigins)
        let cookies = CookiePolicy(settings, hasNodes: link != nil)
        let quotas = AddressQuotas(
            sessionRate: settings.addressSessionRate, streamLimit: settings.maxStreams,
            streamLimitPerAddress: settings.maxStreamsPerAddress, trusted: settings.trustedProxies, logger: logger)
        let credentials = CallerResolver(sessions: sessions, cookies: cookies, quotas: quotas)
        let identity = IdentityRule(
            authenticator: authenticator, isRequired: settings.requireIdentity, credentials: credentials,
            addresses: ClientAddress(trusted: settings.trustedProxies), time: sessions.environment.time,
            clock: sessions.environment.clock, logger: logger)
        let forwarder = link.map { link in
            Forwarder(
                link, quotas.addresses, clock: sessions.environment.clock,
                executor: sessions.environment.executor, longestAnswer: settings.maxStateBytes + 65_536,
                metrics: ForwardMetrics(observation.factory), logger: logger)
        }
        let health = HealthEndpoints(sessions: sessions, readiness: Readiness(sessions: sessions, monitor: monitor)).all
        // The admin port's requests are not counted in the metrics of clients.
        let factory = isAdmin ? NOOPMetricsHandler.instance : observation.factory
        let limits = LimitMetrics(factory)
        let open = DiagnosticsEndpoints(addresses: quotas.addresses).all + DocumentEndpoints.own(endpoints)
        // The most frequent endpoints come first.
        let own =
            isAdmin
            ? health
                + AdminEndpoints(
                    sessions, settings, issuers: issuers, observation.registry, logger
                ).all + DocumentEndpoints.admin()
                + DocumentEndpoints.inspector(isOn: settings.inspector != nil)
            : IntentEndpoint(
                sessions, credentials, crossSite, identity, bodyLimit: settings.bodyLimit, forwarder: forwarder
            ).all
                + StateEndpoints(
                    sessions: sessions, crossSite: crossSite, addresses: quotas.addresses, forwarder: forwarder
                ).all
                + StreamEndpoints(
                    sessions: sessions, credentials: credentials, crossSite: crossSite, quotas: quotas,
                    forwarder: forwarder, limits: limits
                ).all
                + SessionEndpoints(
                    sessions: sessions, credentials: credentials, crossSite: crossSite,
                    identity: identity, longestBody: settings.bodyLimit, quotas: quotas
                ).all
                + FeatureEndpoints(sessions.environment.features, identity, crossSite).all + health
                + open
        let custom = CustomEndpoints(endpoints, sessions, crossSite, identity, logger).all
        try EndpointError.check(endpoints, Router(own))
        try PageResourceError.check(page, Router(own + custom))
        router = Router(own + custom + DocumentEndpoints.ofPage(page))
        (self.sessions, self.crossSite, self.isAdmin) = (sessions, crossSite, isAdmin)
        hosts = isAdmin ? HostRule() : HostRule(settings)
        self.credentials = credentials
        self.identity = identity
        self.quotas = quotas
        self.link = link
        observer = RequestObserver(
            RequestMetrics(factory, limits, router), tracer: isAdmin ? nil : observation.tracer,
            accessLog: accessLog.map { AccessLog($0, quotas.addresses) }, quotas.addresses)
    }

    package func client(of head: RequestHead) -> PeerAddress { quotas.addresses.of(head) }

    package func answered(_ answer: RequestAnswer) { observer.answered(answer) }

    package func receive(_ head: RequestHead) -> HeadVerdict {
        guard let link, head.fields.contains(NodeStamp.field) else { return receive(head, from: .client) }
        return link.receive(head) { receive($0, from: $1) }
    }

    private func receive(_ head: RequestHead, from sender: RequestSender) -> HeadVerdict {
        var terms = terms(of: head)
        do throws(Problem) {
            let outcome = router.route(method: head.method, path: head.path)
            if case .found(let endpoint, _, let number) = outcome {
                terms.vary = endpoint.refusalsVary
                terms.route = number
                terms.note = observer.begin(head, endpoint)
            }
            // The `Host` of a node's request is the client's; that node has checked it.
            if sender != .node, !outcome.takesAnyHost { try hosts.check(head) }
            switch outcome {
            case .found(let endpoint, let parameter, _):
                return try accept(Incoming(head: head, parameter: parameter, sender: sender), endpoint, &terms)
            case .options(let endpoint, let parameter, let allow):
                try endpoint.checkPath?(Incoming(head: head, parameter: parameter))
                return .refuse(terms.finish(options(head, allow: allow)))
            case .unknownMethod(let allow):
                var problem = Problem(.methodNotAllowed, "This path has the methods \(allow).")
                problem.fields = [ResponseField("Allow", allow)]
                throw problem
            case .unknownPath:
                // `OPTIONS *` is for the whole server (RFC 9110 section 9.3.7).
                if head.path == [UInt8(ascii: "*")], head.method == Route.Method.options.rawValue {
                    return .refuse(terms.finish(options(head, allow: Router.everyMethod)))
                }
                throw Problem(.notFound, "Unknown path; /openapi.yaml lists all paths.")
            }
        } catch {
            return .refuse(terms.response(to: error))
        }
    }

    /// Returns the answer to a refusal of the HTTP layer, as a problem.
    package func response(to fault: RequestFault, head: RequestHead?) -> Response {
        guard let head else { return Problem(fault).response(instance: nil) }
        var terms = terms(of: head)
        var problem = Problem(fault)
        if case .found(let endpoint, let parameter, let number) = router.route(method: head.method, path: head.path) {
            terms.vary = endpoint.refusalsVary
            terms.route = number
            if let onBodyTooLarge = endpoint.onBodyTooLarge, problem.type == .bodyTooLarge {
                problem = onBodyTooLarge(Incoming(head: head, parameter: parameter), problem)
            }
        }
        return terms.response(to: problem)
    }

    private func terms(of head: RequestHead) -> ResponseContext {
        ResponseContext(
            path: head.path, origin: crossSite.listedOrigin(head.fields),
            variesByOrigin: !crossSite.allowedOrigins.isEmpty, isAdmin: isAdmin)
    }

    private func accept(
        _ incoming: Incoming, _ endpoint: Route, _ terms: inout ResponseContext
    ) throws(Problem) -> HeadVerdict {
        let answer: Route.Answer
        switch endpoint.access {
        case .everyone(let judge): answer = try judge(incoming)
        case .session(let judge):
            do throws(Problem) {
                switch try credentials.caller(incoming.head) {
                case .known(let caller):
                    terms.note?.note { $0.session = caller.session.id }
                    try identity.check(caller, incoming, endpoint)
                    try incoming.checkIsMeant(for: caller.session)
                    terms.cookies = caller.refresh
                    answer = try answerer(incoming, endpoint, judge, caller)
                case .pending(let pending):
                    answer = { [self] body, reply in
                        pending.lookup.whenReady { [self] found in
                            resume(incoming, endpoint, judge, pending, found, body, reply)
                        }
                    }
                }
            } catch {
                guard let sessionFallback = endpoint.sessionFallback else { throw error }
                return .refuse(terms.finish(try sessionFallback(error, incoming)))
            }
        }
        // An endpoint with a body checks the size itself when it knows the limit.
        if endpoint.bodyLimit == 0 { try incoming.checkSize(limit: 0) }
        // Captures one reference to avoid the allocation of a closure.
        let request = Reply.Request(terms, answer)
        return .accept(bodyLimit: endpoint.bodyLimit) { request.handle($0, $1) }
    }

    /// Returns the answer of a request whose session is known: after the lookup of the space that it acts in, if any.
    private func answerer(
        _ incoming: Incoming, _ endpoint: Route,
        _ judge: @escaping @Sendable (Incoming, Caller) throws(Problem) -> Route.Answer, _ caller: Caller
    ) throws(Problem) -> Route.Answer {
        let features = sessions.environment.features
        guard let access = endpoint.instanceAccess, !features.shared.isEmpty,
            let feature = try? incoming.feature(features), let space = features.space(of: feature)
        else { return try judge(incoming, caller) }
        let isMade = features.makesSpaces(of: feature)
        if isMade, let found = sessions.space(inMemory: space) {
            return try judge(incoming, try caller.acting(in: found, feature, at: client(of: incoming.head)))
        }
        // A client without access makes no space, and does not learn whether there is one.
        if endpoint.method != .get || caller.isByCookie { try crossSite.check(incoming.fields) }
        try features.checkAccess(to: feature, caller.principal, access)
        return { [sessions, quotas] body, reply in
            let address = quotas.addresses.of(incoming.head)
            let permit = quotas.permit(incoming.head, caller.session)
            sessions.space(space, permit: isMade ? permit : nil) { found in
                do throws(Problem) {
                    try judge(incoming, try caller.acting(in: found, feature, at: address))(body, reply)
                } catch {
                    reply.refuse(error)
                }
            }
        }
    }

    /// Continues a request after the lookup of its session.
    private func resume(
        _ incoming: Incoming, _ endpoint: Route,
        _ judge: @escaping @Sendable (Incoming, Caller) throws(Problem) -> Route.Answer, _ pending: PendingCaller,
        _ found: SessionLookup, _ body: [UInt8], _ reply: Reply
    ) {
        var terms = reply.terms
        do throws(Problem) {
            do throws(Problem) {
                let caller = try credentials.caller(
                    found, pending.token, ofCookie: pending.isByCookie ? incoming.fields : nil)
                terms.note?.note { $0.session = caller.session.id }
                try identity.check(caller, incoming, endpoint)
                try incoming.checkIsMeant(for: caller.session)
                terms.cookies = caller.refresh
                let answer = try answerer(incoming, endpoint, judge, caller)
                Reply.Request(terms, answer).handle(body, reply.send)
            } catch {
                guard let sessionFallback = endpoint.sessionFallback else { throw error }
                reply.send(terms.finish(try sessionFallback(error, incoming)))
            }
        } catch {
            reply.send(terms.response(to: error))
        }
    }

    /// Answers with `Allow`, and answers CORS preflights, which have no credential.
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
