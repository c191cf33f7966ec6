import Locking
import MVI
import MicroHTTP
import Sessions

/// `POST /features/{id}/intents`, the path that most requests take: no task, no actor, and nothing made before it is
/// known to be needed. A class, so that what goes on after the head takes one reference to it along and no copy.
final class IntentEndpoint: Sendable {
    private let sessions: SessionTable
    private let credentials: CallerResolver
    private let crossSite: CrossSiteRule
    private let identity: IdentityRule
    private let bodyLimit: Int
    /// The longest wait in seconds.
    private let cap: Int
    /// True if not everybody may use every feature.
    private let hasRules: Bool
    /// Nil for a server without other nodes.
    private let forwarder: Forwarder?

    init(
        _ sessions: SessionTable, _ credentials: CallerResolver, _ crossSite: CrossSiteRule, _ identity: IdentityRule,
        bodyLimit: Int, forwarder: Forwarder? = nil
    ) {
        self.forwarder = forwarder
        self.identity = identity
        hasRules = !sessions.environment.features.ruled.isEmpty
        self.sessions = sessions
        self.credentials = credentials
        self.crossSite = crossSite
        self.bodyLimit = bodyLimit
        cap = Int(sessions.environment.limits.longestWait.components.seconds)
    }

    var all: [Route] {
        [
            Route(
                "sendIntent", .post, "/features/{id}/intents",
                checkPath: Incoming.checkFeature(sessions.environment.features), bodyLimit: bodyLimit,
                refusalsVary: AnswerFields.intentVary, onBodyTooLarge: cutOff, .session(send))
        ]
    }

    @Sendable
    private func send(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        let fields = incoming.fields
        let session = caller.session
        // `docs/http.md`, order of checks: session, cross-site rule, feature, size, media type; the rest needs the
        // body.
        try crossSite.check(fields)
        let feature = try incoming.feature(sessions.environment.features)
        if hasRules { try sessions.environment.features.checkAccess(to: feature, caller.principal, .send) }
        // A key's maker asks elsewhere whether the key is good.
        try caller.checkRate(incoming)
        try checkInstance(feature, caller)
        do throws(Problem) { try incoming.checkSize(limit: bodyLimit) } catch {
            throw useUpAtOnce(incoming.head, caller, feature, error)
        }
        let condition: (@Sendable (UInt64) -> Bool)?
        let name: IntentRequest.Name?
        do throws(Problem) {
            try MediaTypes.checkJSON(fields)
            name = try IntentName.read(fields)
            condition = try self.condition(fields, session)
        } catch {
            guard let name = try? IntentName.read(fields), case .sequence = name else { throw error }
            return { [self] body, reply in
                let use: Forwarder.Attempt = { [self] done in useUp(name, caller, error, feature, reply, done) }
                use { [self] isAnswered in
                    guard !isAnswered else { return }
                    forward(incoming, name, body, .zero, feature, caller.session, reply, again: use)
                }
            }
        }
        let preferences = Preferences(fields)
        return { [self] body, reply in
            let wait = wait(preferences)
            let request = IntentRequest(
                body: body, name: name, ifMatch: condition, wait: wait, wantsState: preferences.wantsState,
                client: wait == nil ? caller.client : caller.client(at: identity.addresses.of(incoming.head)),
                trace: reply.terms.note?.trace)
            reply.terms.note?.note { $0.feature = feature.text }
            let intent = PostedIntent(
                self, feature, caller, preferences, reply,
                sent: forwarder == nil ? nil : PostedIntent.Sent(incoming, request))
            // Both capture one reference, so that no closure is allocated.
            session.send(request, to: feature, record: { intent.recorded($0) }, completion: { intent.completed($0) })
        }
    }

    /// Another node runs the session's turns: has the request answered there, or here if the session comes here.
    fileprivate func forward(
        _ incoming: Incoming, _ name: IntentRequest.Name?, _ body: [UInt8], _ wait: Duration, _ feature: FeatureID,
        _ session: Session, _ reply: Reply, again: @escaping Forwarder.Attempt
    ) {
        guard let forwarder else { return reply.refuse(Forwarder.unreachable) }
        forwarder.forward(
            ForwardedRequest(
                incoming: incoming, method: .post, feature: feature, resource: .intents, body: body,
                // Its name keeps it from running twice.
                isRepeatable: name != nil, wait: wait, session: forwarder.session(session), reply: reply),
            again: again)
    }

    /// A key that names nothing is found out before the body is looked at, without making a store for a request that
    /// may yet be refused.
    private func checkInstance(_ feature: FeatureID, _ caller: Caller) throws(Problem) {
        guard caller.makes(feature) else { return }
        do throws(StoreError) { _ = try caller.session.initialState(of: feature, for: caller.principal) } catch {
            throw Problem(error, feature)
        }
    }

    private func condition(
        _ fields: HeaderFields, _ session: Session
    ) throws(Problem) -> (@Sendable (UInt64) -> Bool)? {
        switch EntityTags.read("if-match", of: fields) {
        case nil: return nil
        case .success(let tags)?: return { tags.matchesStrongly(session.entityTag(version: $0)) }
        case .failure?:
            throw Problem(.badRequest, "`If-Match` must be `*` or a list of entity tags in quotes.")
        }
    }

    /// While the server stops, nothing waits: what is done is done, and the answer says so.
    private func wait(_ preferences: Preferences) -> Duration? {
        guard let wait = preferences.wait, !sessions.isDraining else { return nil }
        return .seconds(min(wait, cap))
    }

    fileprivate func refuse(_ error: StoreError, _ feature: FeatureID, _ session: Session, _ reply: Reply) {
        reply.refuse(session.isEnded ? Problem(StoreError(.gone, "")) : problem(error, feature))
    }

    private func problem(_ error: StoreError, _ feature: FeatureID) -> Problem {
        Problem(error, feature, in: sessions.environment.features)
    }

    // MARK: Numbers

    /// Refusals with these statuses use an `Intent-Seq` up: the same request would be refused again. Others are the
    /// server's trouble, or the session's, and the number is still to come.
    private static let final: Set<Int> = [400, 403, 412, 413, 415, 422]

    /// Returns the refusal to record for repetitions of an intent.
    fileprivate func recorded(_ error: StoreError, _ feature: FeatureID, _ path: [UInt8]) -> RecordedRefusal? {
        let problem = problem(error, feature)
        return Self.final.contains(problem.type.status) ? problem.recorded(instance: path) : nil
    }

    /// A request with a number is refused by its head: the answer waits until that is kept, as that to an intent does.
    ///
    /// - Parameter done: called with false, and nothing is answered, if another node has to keep it.
    private func useUp(
        _ name: IntentRequest.Name, _ caller: Caller, _ problem: Problem, _ feature: FeatureID, _ reply: Reply,
        _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        caller.session.useUp(
            name, problem.recorded(instance: reply.terms.path), of: caller.client, for: feature
        ) { [self] result in
            switch result {
            case .success(let wasBefore): reply.refuse(wasBefore ? problem.replayed : problem)
            case .failure(let error) where error.code == .elsewhere: return done(false)
            case .failure(let error): refuse(error, feature, caller.session, reply)
            }
            done(true)
        }
    }

    /// The same for a request whose body is too large, which is answered without reading it and before the number is
    /// kept: should the server end before that, the next number is answered with the one that is expected.
    private func useUpAtOnce(
        _ head: RequestHead, _ caller: Caller, _ feature: FeatureID, _ problem: Problem
    ) -> Problem {
        guard let name = try? IntentName.read(head.fields), case .sequence = name else { return problem }
        let wasBefore = Lock(false)
        caller.session.useUp(
            name, problem.recorded(instance: head.path), of: caller.client, for: feature
        ) { result in
            if case .success(true) = result { wasBefore.withLock { $0 = true } }
        }
        return wasBefore.withLock { $0 } ? problem.replayed : problem
    }

    /// The HTTP layer cut off a body that grew too large; returns what to answer.
    @Sendable
    private func cutOff(_ incoming: Incoming, _ problem: Problem) -> Problem {
        guard let (token, isByCookie) = credentials.token(incoming.fields),
            (try? crossSite.check(incoming.fields)) != nil,
            let feature = try? incoming.feature(sessions.environment.features)
        else { return problem }
        let found: @Sendable (SessionLookup) -> Problem = { [self] found in
            cutOff(incoming, try? credentials.caller(found, token, isByCookie: isByCookie), feature, problem)
        }
        if let known = sessions.lookup(token) { return found(known) }
        sessions.find(token) { _ = found($0) }
        return problem
    }

    private func cutOff(_ incoming: Incoming, _ caller: Caller?, _ feature: FeatureID, _ problem: Problem) -> Problem {
        guard let caller, (try? identity.check(caller, incoming)) != nil,
            (try? incoming.checkIsMeant(for: caller.session)) != nil,
            (try? sessions.environment.features.checkAccess(to: feature, caller.principal, .send)) != nil,
            (try? checkInstance(feature, caller)) != nil
        else { return problem }
        return useUpAtOnce(incoming.head, caller, feature, problem)
    }

    fileprivate func answer(
        _ intent: IntentOutcome, _ feature: FeatureID, _ session: Session, _ preferences: Preferences
    ) -> Response {
        if let refusal = intent.refusal {
            var response = Response(status: refusal.status, fields: AnswerFields.problem, body: .bytes(refusal.body))
            response.fields.append(ResponseField("Idempotency-Replayed", "true"))
            response.mark(problem: response.problemName)
            return response
        }
        let form = AnswerForm(
            preferences, isSettled: intent.isSettled, isWaitGranted: intent.isWaitGranted,
            isWithheld: intent.isWithheld, cap: cap)
        var response: Response
        switch form.status {
        case 204: response = Response(status: 204, fields: AnswerFields.intentEmpty)
        case 200:
            guard let state = intent.state else {
                preconditionFailure("an answer shows a state that was not asked for")
            }
            response = Response(status: 200, fields: AnswerFields.intent, body: .bytes(state.view))
            response.fields.append(ResponseField("ETag", "\"\(state.entityTag)\""))
        default:
            var object = JSONObject()
            object.add("intent", intent.id.text)
            object.add("session", session.id)
            object.add("feature", feature.text)
            object.add("version", intent.version)
            response = Response(status: 202, fields: AnswerFields.intent, body: .bytes(object.close()))
        }
        if let applied = form.applied { response.fields.append(ResponseField("Preference-Applied", applied)) }
        if intent.isReplayed { response.fields.append(ResponseField("Idempotency-Replayed", "true")) }
        return response
    }
}

/// An intent on its way through its session, with what its answer needs.
private final class PostedIntent: Sendable {
    private let endpoint: IntentEndpoint
    private let feature: FeatureID
    private let caller: Caller
    private let preferences: Preferences
    private let reply: Reply
    /// Nil for a server without other nodes.
    private let sent: Sent?

    /// The request in a form that can be sent again or forwarded.
    final class Sent: Sendable {
        let incoming: Incoming
        let request: IntentRequest

        init(_ incoming: Incoming, _ request: IntentRequest) { (self.incoming, self.request) = (incoming, request) }
    }

    init(
        _ endpoint: IntentEndpoint, _ feature: FeatureID, _ caller: Caller, _ preferences: Preferences,
        _ reply: Reply, sent: Sent?
    ) {
        self.sent = sent
        (self.endpoint, self.feature, self.caller) = (endpoint, feature, caller)
        (self.preferences, self.reply) = (preferences, reply)
    }

    /// Returns the refusal to record for repetitions of the intent.
    func recorded(_ error: StoreError) -> RecordedRefusal? { endpoint.recorded(error, feature, reply.terms.path) }

    func completed(_ result: IntentResult) {
        switch result {
        case .success(let outcome):
            reply.terms.note?.note { $0.intent = outcome.id.text }
            reply.answer(endpoint.answer(outcome, feature, caller.session, preferences))
        case .failure(let error):
            guard error.code == .elsewhere, let sent else {
                return endpoint.refuse(error, feature, caller.session, reply)
            }
            endpoint.forward(
                sent.incoming, sent.request.name, sent.request.body, sent.request.wait ?? .zero, feature,
                caller.session, reply
            ) { self.send(sent.request, $0) }
        }
    }

    /// Tries again. Calls `done` with false if another node runs the session's turns still.
    private func send(_ request: IntentRequest, _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        caller.session.send(request, to: feature, record: { self.recorded($0) }) { result in
            if case .failure(let error) = result, error.code == .elsewhere { return done(false) }
            self.completed(result)
            done(true)
        }
    }
}

extension Problem {
    fileprivate func recorded(instance: [UInt8]) -> RecordedRefusal {
        RecordedRefusal(status: type.status, body: body(instance: instance))
    }

    /// The same as the answer to a repetition.
    fileprivate var replayed: Problem {
        var problem = self
        problem.fields.append(ResponseField("Idempotency-Replayed", "true"))
        return problem
    }
}

/// In which form an intent that ran is answered: the table of `docs/http.md`, Intents.
struct AnswerForm: Equatable {
    /// 202, 200 or 204.
    let status: Int
    /// The preferences that the answer honours, as `Preference-Applied` lists them (RFC 7240 section 3).
    let applied: String?

    /// - Parameters:
    ///   - isSettled: whether no work that the intent launched is running.
    ///   - isWaitGranted: whether the request had a place to wait in.
    ///   - isWithheld: whether the client may not be shown the state: it is told only that the intent ran.
    ///   - cap: the longest wait in seconds.
    init(_ preferences: Preferences, isSettled: Bool, isWaitGranted: Bool, isWithheld: Bool = false, cap: Int) {
        if isWithheld {
            (status, applied) = (202, nil)
            return
        }
        let waited = preferences.wait.map { "wait=\(min($0, cap))" }
        if let waited, !isSettled {
            status = 202
            applied = isWaitGranted ? waited : nil
            return
        }
        switch preferences.return {
        case .minimal:
            status = 204
            applied = waited.map { "return=minimal, \($0)" } ?? "return=minimal"
        case .representation:
            status = 200
            applied = waited.map { "return=representation, \($0)" } ?? "return=representation"
        case nil:
            status = waited == nil ? 202 : 200
            applied = waited ?? (preferences.respondAsync ? "respond-async" : nil)
        }
    }
}
