import Logging
import MVI
import MicroHTTP
import PrometheusMetrics
import SessionJournal
import Sessions
import WireJSON

/// `/admin` (sessions by their ids) and `/metrics`, behind `AdminGuard`. On the admin port only.
struct AdminEndpoints: Sendable {
    /// The default and the maximal number of sessions on a page of the list.
    private static let pageLength = (usual: 100, longest: 1_000)

    let sessions: SessionTable
    let guarding: AdminGuard
    private let bodyLimit: Int
    let logger: Logger?
    /// Nil without an inspector.
    let inspector: Inspector?
    /// Those of the features, by their names; nil unless the inspector shows shapes.
    let shapes: [String: ValueShape]?
    /// The inspector's link and its token; nil if administrators have a token.
    let inspectorLink: (InspectorLink, token: String)?
    private let registry: PrometheusRegistry?
    /// Those of the authenticator.
    private let issuers: [String]

    /// - Parameter registry: the registry that `/metrics` prints; nil for none.
    init(
        _ sessions: SessionTable, _ settings: ServerSettings, issuers: [String], _ registry: PrometheusRegistry?,
        _ logger: Logger?
    ) {
        self.issuers = issuers
        (self.sessions, self.logger, bodyLimit) = (sessions, logger, settings.bodyLimit)
        (self.registry, inspector) = (registry, settings.inspector)
        let features = sessions.environment.features.definitions
        shapes =
            inspector == .shapes ? Dictionary(uniqueKeysWithValues: features.map { ($0.name, ValueShape($0)) }) : nil
        inspectorLink = settings.inspectorLink.flatMap { link in settings.inspectorToken.map { (link, $0) } }
        guarding = AdminGuard(settings, time: sessions.environment.time, logger: logger)
    }

    var all: [Route] {
        [
            Route("adminListSessions", .get, "/admin/sessions", guarding.access(forInspector: true, list)),
            Route("adminReadSession", .get, "/admin/sessions/{id}", guarding.access(forInspector: true, read)),
            Route("adminEndSession", .delete, "/admin/sessions/{id}", guarding.access(end)),
            Route("adminReadState", .get, "/admin/sessions/{id}/features/{feature}", guarding.access(readState)),
            Route(
                "adminSendIntent", .post, "/admin/sessions/{id}/features/{feature}/intents", bodyLimit: bodyLimit,
                guarding.access(send)),
            Route(
                "adminRecordSession", .post, "/admin/sessions/{id}/recording", bodyLimit: Self.recordingBody,
                guarding.access(forInspector: true, record)),
            Route(
                "adminListTurns", .get, "/admin/sessions/{id}/turns", guarding.access(forInspector: true, turns)),
            Route("adminExportSubject", .get, "/admin/subjects/export", guarding.access(export)),
            Route("adminForgetSubject", .delete, "/admin/subjects", guarding.access(forget)),
            Route("adminDrain", .post, "/admin/drain", guarding.access(drain)),
        ] + linkRoutes + (registry.map { [MetricsEndpoint.route($0, guarding)] } ?? [])
    }

    func answer(_ reply: Reply, _ body: @escaping @Sendable () async throws(Problem) -> Response) {
        answer(reply, on: sessions.environment.executor, body)
    }

    /// - Parameter executor: runs the body; nil for the global pool.
    func answer(
        _ reply: Reply, on executor: (any TaskExecutor)?,
        _ body: @escaping @Sendable () async throws(Problem) -> Response
    ) {
        Task(executorPreference: executor) {
            do throws(Problem) { reply.answer(try await body()) } catch { reply.refuse(error) }
        }
    }

    /// Converts errors of the journal to problems.
    func asking<Value>(_ body: () async throws(StoreError) -> Value) async throws(Problem) -> Value {
        do throws(StoreError) { return try await body() } catch { throw Problem(error) }
    }

    static func json(_ status: Int, _ object: [UInt8]) -> Response {
        Response(status: status, fields: AnswerFields.momentaryJSON, body: .bytes(object))
    }

    // MARK: Looking

    /// False for a request with only the inspector's own token, if it shows types instead of values.
    private var namesSubjects: Bool {
        if case .inspector = guarding.rule { inspector == .values } else { true }
    }

    @Sendable
    private func list(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let query = QueryItems(incoming.head.query)
        let limit = try number("limit", query, in: 1...Int64(Self.pageLength.longest)) ?? Int64(Self.pageLength.usual)
        let before = try number("before", query, in: 0...Int64.max).map { SessionKey($0) }
        let subject = try subject(query)
        return { [self] _, reply in
            answer(reply) { () async throws(Problem) in
                let found = try await asking { () async throws(StoreError) in
                    try await sessions.list(of: subject, before: before, limit: Int(limit))
                }
                let memory = sessions.inMemory(Set(found.map(\.id)))
                var object = JSONObject()
                object.add(
                    "sessions",
                    array: found.map { each in
                        SessionAnswer.overview(each, namesSubject: namesSubjects, memory: memory[each.id])
                    })
                if let last = found.last, found.count == Int(limit) {
                    object.add("next", Self.next(after: last.key, limit: limit, subject))
                }
                return Self.json(200, object.close())
            }
        }
    }

    private func subject(_ query: QueryItems) throws(Problem) -> Subject? {
        let (issuer, id) = (try text("issuer", query), try text("subject", query))
        guard let id else {
            guard issuer == nil else { throw Problem(.badRequest, "`issuer` requires `subject`.") }
            return nil
        }
        if let issuer { return Subject(issuer: issuer, id: id) }
        // Another issuer's subject of this name is another person.
        guard let only = issuers.first, Set(issuers).count == 1 else {
            let choice = issuers.isEmpty ? "" : " It is one of: \(issuers.map { "\"\($0)\"" }.joined(separator: ", "))."
            throw Problem(
                .badRequest, "`issuer` is missing, and the server's authenticator does not have only one.\(choice)")
        }
        return Subject(issuer: only, id: id)
    }

    /// The next page's path and query.
    private static func next(after key: SessionKey, limit: Int64, _ subject: Subject?) -> String {
        var next = "/admin/sessions?before=\(key.number)&limit=\(limit)"
        guard let subject else { return next }
        next += "&issuer=\(PercentEncoding.component(subject.issuer))"
        return next + "&subject=\(PercentEncoding.component(subject.id))"
    }

    func number(
        _ name: String, _ query: QueryItems, in range: ClosedRange<Int64>
    ) throws(Problem) -> Int64? {
        guard let text = try text(name, query) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw Problem(
                .badRequest, "`\(name)` must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    func text(_ name: String, _ query: QueryItems) throws(Problem) -> String? {
        let values = query.values(name)
        guard let first = values.first else { return nil }
        guard values.count == 1, let text = first else {
            throw Problem(.badRequest, "`\(name)` must be given once, with a well-formed value.")
        }
        return text
    }

    @Sendable
    private func read(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let id = incoming.parameterText
        return { [self] _, reply in
            answer(reply) { () async throws(Problem) in
                let inspected = try await asking { () async throws(StoreError) -> SessionInspection? in
                    if let id { try await sessions.inspect(id) } else { nil }
                }
                guard let inspected, let id else { throw Self.notFound }
                let node = sessions.environment.lease?.id
                return Self.json(
                    200,
                    SessionAnswer.session(
                        id, inspected, namesSubject: namesSubjects, node: node,
                        now: sessions.environment.time.sinceEpoch()))
            }
        }
    }

    @Sendable
    private func readState(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (texts, peer) = (incoming.parameterTexts, incoming.head.peer)
        return { [self] _, reply in
            answer(reply) { () async throws(Problem) in
                guard let id = texts.first, let feature = texts.second.flatMap({ FeatureID($0) }) else {
                    throw Problem(.featureNotFound, "Not a feature id. Its form is `name` or `name:key`.")
                }
                let kept = try await asking { () async throws(StoreError) in
                    try await sessions.keptStore(feature, of: id)
                }
                switch kept {
                case .store(let store):
                    logger?.notice(
                        "An administrator looked at a state",
                        metadata: ["session": "\(id)", "feature": "\(feature)", "peer": "\(peer)"])
                    return Self.json(200, SessionAnswer.state(store))
                case .noSession: throw Self.notFound
                case .noStore: throw Problem(.featureNotFound, "The session has no store of \"\(feature)\".")
                }
            }
        }
    }

    static var notFound: Problem { Problem(.adminSessionNotFound, "No session has this id.") }

    // MARK: Acting

    @Sendable
    private func end(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (id, peer) = (incoming.parameterText, incoming.head.peer)
        return { [self] _, reply in
            answer(reply) { () async throws(Problem) in
                guard let id else { throw Self.notFound }
                let isEnded = try await asking { () async throws(StoreError) in
                    guard let token = try await sessions.token(ofID: id) else { return false }
                    try await sessions.end(token)
                    return true
                }
                guard isEnded else { throw Self.notFound }
                logger?.notice("An administrator ended a session", metadata: ["session": "\(id)", "peer": "\(peer)"])
                return Response(status: 204, fields: AnswerFields.momentary)
            }
        }
    }

    @Sendable
    private func send(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (texts, peer) = (incoming.parameterTexts, incoming.head.peer)
        let feature = try Incoming.feature(texts.second, sessions.environment.features)
        try incoming.checkSize(limit: bodyLimit)
        try MediaTypes.checkJSON(incoming.fields)
        let key = try IdempotencyKey.read(incoming.fields)
        let makesStore = try text("make", QueryItems(incoming.head.query)) == "true"
        return { [self] body, reply in
            answer(reply) { () async throws(Problem) in
                let token = try await asking { () async throws(StoreError) -> TokenHash? in
                    if let id = texts.first { try await sessions.token(ofID: id) } else { nil }
                }
                guard let token, let id = texts.first else { throw Self.notFound }
                let result = await sessions.deliver(
                    body, to: feature, of: token, once: key.map { "admin \($0)" }, makesStore: makesStore)
                switch result {
                case .success(let outcome):
                    logger?.notice(
                        "An administrator sent an intent",
                        metadata: [
                            "session": "\(id)", "feature": "\(feature)", "intent": "\(outcome.id)", "peer": "\(peer)",
                        ])
                    return Self.accepted(outcome, feature, session: id)
                case .failure(let error): throw Problem(error, feature, in: sessions.environment.features)
                }
            }
        }
    }

    /// The answer that a client gets without a preference.
    private static func accepted(_ outcome: IntentOutcome, _ feature: FeatureID, session: String) -> Response {
        var object = JSONObject()
        object.add("intent", outcome.id.text)
        object.add("session", session)
        object.add("feature", feature.text)
        object.add("version", outcome.version)
        var response = json(202, object.close())
        if outcome.isReplayed { response.fields.append(ResponseField("Idempotency-Replayed", "true")) }
        return response
    }

    // MARK: A subject's data

    private func namedSubject(_ incoming: Incoming) throws(Problem) -> Subject {
        guard let subject = try subject(QueryItems(incoming.head.query)) else {
            throw Problem(.badRequest, "`subject` is missing in the query.")
        }
        return subject
    }

    @Sendable
    private func export(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (subject, peer) = (try namedSubject(incoming), incoming.head.peer)
        return { [self] _, reply in
            answer(reply) { () async throws(Problem) in
                let ids = try await asking { () async throws(StoreError) in try await sessions.sessionIDs(of: subject) }
                let spaces = try await asking { () async throws(StoreError) in
                    try await sessions.spaces(visitedBy: subject)
                }
                logger?.notice(
                    "An administrator exported a subject's data",
                    metadata: ["sessions": "\(ids.count)", "peer": "\(peer)"])
                return Response(
                    status: 200, fields: AnswerFields.momentaryLines,
                    body: .stream(SubjectExport(sessions, ids, spaces)))
            }
        }
    }

    @Sendable
    private func forget(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (subject, peer) = (try namedSubject(incoming), incoming.head.peer)
        return { [self] _, reply in
            answer(reply) { () async throws(Problem) in
                let data = try await asking { () async throws(StoreError) in try await sessions.forget(subject) }
                logger?.notice(
                    "An administrator deleted a subject's data",
                    metadata: ["sessions": "\(data.sessions)", "spaces": "\(data.spaces)", "peer": "\(peer)"])
                var object = JSONObject()
                object.add("sessions", data.sessions)
                object.add("stores", data.stores)
                object.add("bytes", data.bytes)
                object.add("spaces", data.spaces)
                object.add("issuer", subject.issuer)
                return Self.json(200, object.close())
            }
        }
    }

    @Sendable
    private func drain(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let peer = incoming.head.peer
        return { [self] _, reply in
            let streams = sessions.environment.openStreams
            logger?.notice(
                "An administrator drained the server: it is not ready and keeps running",
                metadata: ["streams": "\(streams)", "peer": "\(peer)"])
            // Other nodes take its sessions over.
            sessions.leaveNodes {}
            sessions.drain()
            var object = JSONObject()
            object.add("status", "draining")
            object.add("streams", streams)
            reply.answer(Self.json(202, object.close()))
        }
    }
}
