import Locking
import MicroHTTP
import MVI
import Sessions
import WireJSON

/// `POST /features/{id}/intents`, the most frequent request: without tasks and actors, and with as few allocations as
/// possible. A class, so that closures capture a single reference.
final class IntentEndpoint: Sendable {
    private let sessions: SessionTable
    private let credentials: CallerResolver
    private let crossSite: CrossSiteRule
    fileprivate let identity: IdentityRule
    private let bodyLimit: Int
    /// The maximal wait in seconds.
    private let cap: Int
    /// True if a feature has an access rule.
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
                instanceAccess: .send, refusalsVary: AnswerFields.intentVary, onBodyTooLarge: cutOff, .session(send))
        ]
    }

    @Sendable
    private func send(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        let fields = incoming.fields
        let session = caller.target
        // The order of checks of `docs/http.md`: session, cross-site rule, feature, size, media type. The others need
        // the body.
        try crossSite.check(fields)
        let feature = try incoming.feature(sessions.environment.features)
        if hasRules { try sessions.environment.features.checkAccess(to: feature, caller.principal, .send) }
        // A key's maker calls other services to check the key.
        try caller.checkRate(incoming)
        try checkInstance(feature, caller)
        do throws(Problem) { try incoming.checkSize(limit: bodyLimit) } catch {
            throw useUpAtOnce(incoming.head, caller, feature, error)
        }
        let condition: (@Sendable (ClosedRange<UInt64>) -> Bool)?
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
                    forward(incoming, name, body, .zero, feature, caller.target, reply, again: use)
                }
            }
        }
        let preferences = Preferences(fields)
        return { [self] body, reply in
            let wait = wait(preferences)
            var request = IntentRequest(
                body: body, name: name, ifMatch: condition, wait: wait, wantsState: preferences.wantsState,
                client: wait == nil
                    ? caller.client
                    : caller.client(waitingFor: incoming.head, at: identity.addresses.of(incoming.head)),
                trace: reply.terms.note?.trace)
            reply.terms.note?.note { $0.feature = feature.text }
            let intent = PostedIntent(
                self, feature, caller, preferences, reply, incoming.head,
                sent: forwarder == nil ? nil : PostedIntent.Sent(incoming, request))
            request.origin = intent
            // Both closures capture a single reference, so that none is allocated.
            session.send(request, to: feature, record: { intent.recorded($0) }, completion: { intent.completed($0) })
        }
    }

    /// Forwards the request to the session's owner, or answers it here if the session moves here.
    fileprivate func forward(
        _ incoming: Incoming, _ name: IntentRequest.Name?, _ body: [UInt8], _ wait: Duration, _ feature: FeatureID,
        _ session: Session, _ reply: Reply, again: @escaping Forwarder.Attempt
    ) {
        guard let forwarder else { return reply.refuse(Forwarder.unreachable) }
        forwarder.forward(
            ForwardedRequest(
                incoming: incoming, method: .post, feature: feature, resource: .intents, body: body,
                // Its key or number prevents a second run.
                isRepeatable: name != nil, wait: wait, session: ForwardedSession(session), reply: reply),
            again: again)
    }

    /// Checks the key before the body, without making a store for a request that may be refused.
    private func checkInstance(_ feature: FeatureID, _ caller: Caller) throws(Problem) {
        guard caller.makes(feature) else { return }
        do throws(StoreError) { _ = try caller.target.initialState(of: feature, for: caller.client) } catch {
            throw Problem(error, feature)
        }
    }

    private func condition(
        _ fields: HeaderFields, _ session: Session
    ) throws(Problem) -> (@Sendable (ClosedRange<UInt64>) -> Bool)? {
        switch EntityTags.read("if-match", of: fields) {
        case nil: return nil
        case .success(let tags)?: return { tags.nameStrongly(anyOf: $0, in: session.epoch) }
        case .failure?:
            throw Problem(.badRequest, "`If-Match` must be `*` or a list of entity tags in quotes.")
        }
    }

    /// While the server stops, requests do not wait: the answer has the current state.
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

    /// The statuses of refusals that consume an `Intent-Seq`: the same request would be refused again. Other refusals
    /// are temporary, and the number is not consumed.
    private static let final: Set<Int> = [400, 403, 412, 413, 415, 422]

    /// The answer that is stored when a refusal consumes its `Intent-Seq`.
    fileprivate func recorded(_ error: StoreError, _ feature: FeatureID, _ path: [UInt8]) -> RecordedRefusal? {
        let problem = problem(error, feature)
        return Self.final.contains(problem.type.status) ? problem.recorded(instance: path) : nil
    }

    /// Refuses a request with a number by its head, after the refusal is committed.
    ///
    /// - Parameter done: called with false, and without an answer, if another node has to commit it.
    private func useUp(
        _ name: IntentRequest.Name, _ caller: Caller, _ problem: Problem, _ feature: FeatureID, _ reply: Reply,
        _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        caller.target.useUp(
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

    /// Refuses a request whose body is too large, without reading the body and before the refusal is committed. If the
    /// server ends before, the next number is refused as out of sequence.
    private func useUpAtOnce(
        _ head: RequestHead, _ caller: Caller, _ feature: FeatureID, _ problem: Problem
    ) -> Problem {
        guard let name = try? IntentName.read(head.fields), case .sequence = name else { return problem }
        let wasBefore = Lock(false)
        caller.target.useUp(
            name, problem.recorded(instance: head.path), of: caller.client, for: feature
        ) { result in
            if case .success(true) = result { wasBefore.withLock { $0 = true } }
        }
        return wasBefore.withLock { $0 } ? problem.replayed : problem
    }

    /// Returns the answer if the HTTP layer cut off a body that is too large.
    @Sendable
    private func cutOff(_ incoming: Incoming, _ problem: Problem) -> Problem {
        guard let (token, isByCookie) = credentials.token(incoming.fields),
            (try? crossSite.check(incoming.fields)) != nil,
            let feature = try? incoming.feature(sessions.environment.features)
        else { return problem }
        let found: @Sendable (SessionLookup) -> Problem = { [self] found in
            cutOff(
                incoming, try? credentials.caller(found, token, ofCookie: isByCookie ? incoming.fields : nil), feature,
                problem)
        }
        if let known = sessions.lookup(token) { return found(known) }
        sessions.find(token) { _ = found($0) }
        return problem
    }

    private func cutOff(_ incoming: Incoming, _ caller: Caller?, _ feature: FeatureID, _ problem: Problem) -> Problem {
        let features = sessions.environment.features
        guard let caller, (try? identity.check(caller, incoming)) != nil,
            (try? incoming.checkIsMeant(for: caller.session)) != nil,
            (try? features.checkAccess(to: feature, caller.principal, .send)) != nil
        else { return problem }
        guard let space = features.space(of: feature) else { return cutOff(incoming, of: caller, feature, problem) }
        let quotas = credentials.quotas
        let found: @Sendable (SessionLookup) -> Problem = { [self] found in
            let address = quotas.addresses.of(incoming.head)
            guard let caller = try? caller.acting(in: found, feature, at: address) else { return problem }
            return cutOff(incoming, of: caller, feature, problem)
        }
        let isMade = features.makesSpaces(of: feature)
        if isMade, let known = sessions.space(inMemory: space) { return found(known) }
        let permit = quotas.permit(incoming.head, caller.session)
        sessions.space(space, permit: isMade ? permit : nil) { _ = found($0) }
        return problem
    }

    private func cutOff(_ incoming: Incoming, of caller: Caller, _ feature: FeatureID, _ problem: Problem) -> Problem {
        guard (try? checkInstance(feature, caller)) != nil else { return problem }
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
                preconditionFailure("an answer has a state that was not requested")
            }
            response = Response(status: 200, fields: AnswerFields.intent, body: .bytes(state.view))
            response.fields.append(ResponseField("ETag", "\"\(state.entityTag)\""))
            if state.isStale { response.fields.append(AnswerFields.stale) }
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

/// A sent intent with the data for its answer.
private final class PostedIntent: ClientOrigin {
    private let endpoint: IntentEndpoint
    private let feature: FeatureID
    private let caller: Caller
    private let preferences: Preferences
    private let reply: Reply
    private let head: RequestHead
    /// Nil for a server without other nodes.
    private let sent: Sent?

    /// The data for sending the request again or forwarding it.
    final class Sent: Sendable {
        let incoming: Incoming
        let request: IntentRequest

        init(_ incoming: Incoming, _ request: IntentRequest) { (self.incoming, self.request) = (incoming, request) }
    }

    init(
        _ endpoint: IntentEndpoint, _ feature: FeatureID, _ caller: Caller, _ preferences: Preferences,
        _ reply: Reply, _ head: RequestHead, sent: Sent?
    ) {
        (self.head, self.sent) = (head, sent)
        (self.endpoint, self.feature, self.caller) = (endpoint, feature, caller)
        (self.preferences, self.reply) = (preferences, reply)
    }

    var clientAddress: String? { endpoint.identity.addresses.of(head).ipText }

    /// The answer that is stored when a refusal consumes its `Intent-Seq`.
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
                caller.target, reply
            ) { self.send(sent.request, $0) }
        }
    }

    /// Sends the request again. Calls `done` with false if another node still owns the session.
    private func send(_ sent: IntentRequest, _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        var request = sent
        request.origin = self
        caller.target.send(request, to: feature, record: { self.recorded($0) }) { result in
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

    /// The same problem as the answer to a repetition.
    fileprivate var replayed: Problem {
        var problem = self
        problem.fields.append(ResponseField("Idempotency-Replayed", "true"))
        return problem
    }
}

/// The form of an answer to an intent: the table of `docs/http.md`, Intents.
struct AnswerForm: Equatable {
    /// 202, 200 or 204.
    let status: Int
    /// The applied preferences, for `Preference-Applied` (RFC 7240 section 3).
    let applied: String?

    /// - Parameters:
    ///   - isSettled: true if no work of the intent is running.
    ///   - isWaitGranted: true if the request was allowed to wait.
    ///   - isWithheld: true if the client has no access to the state and learns only that the intent ran.
    ///   - cap: the maximal wait in seconds.
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
