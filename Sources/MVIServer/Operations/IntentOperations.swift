import MicroHTTP
import Sessions

/// `POST /features/{id}/intents`, the path that most requests take: no task, no actor, and nothing made before it is
/// known to be needed.
struct IntentOperations: Sendable {
    let sessions: SessionTable
    let credentials: Credentials
    let crossSite: CrossSiteRule
    let bodyLimit: Int

    func send(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Call.Answer {
        let fields = incoming.fields
        let session = caller.session
        // PROTOCOL section 3, order of checks: session, cross-site rule, feature, size, media type; the rest needs the
        // body.
        try crossSite.check(fields)
        let feature = try incoming.feature(sessions.environment.features)
        try checkInstance(feature, session)
        do throws(Problem) {
            try incoming.checkSize(limit: bodyLimit)
            try MediaTypes.checkJSON(fields)
        } catch {
            useUp(incoming.head, session, error)
            throw error
        }
        let name = try IntentName.read(fields)
        let condition = try condition(fields, session)
        let preferences = Preferences(fields)
        return { body, reply in
            accept(
                IntentRequest(body: body, name: name, ifMatch: condition, wait: wait(preferences)),
                feature, session, preferences, reply)
        }
    }

    /// A key that names nothing is found out before the body is looked at, without making a store for a request that
    /// may yet be refused.
    private func checkInstance(_ feature: FeatureID, _ session: Session) throws(Problem) {
        guard feature.key != nil, !session.hasStore(feature) else { return }
        do throws(StoreRefusal) { _ = try session.initialState(of: feature) } catch { throw Problem(error, feature) }
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

    private var cap: Int { Int(sessions.environment.limits.longestWait.components.seconds) }

    private func accept(
        _ request: IntentRequest, _ feature: FeatureID, _ session: Session, _ preferences: Preferences, _ reply: Reply
    ) {
        session.accept(request, for: feature, lastWord: { lastWord($0, feature, reply.terms.path) }) { result in
            switch result {
            case .success(let intent): reply.answer(answer(intent, feature, session, preferences))
            case .failure(.replayed(let status, let body)):
                var response = Response(status: status, fields: AnswerFields.problem, body: .bytes(body))
                response.fields.append((name: "Idempotency-Replayed", value: "true"))
                reply.answer(response)
            case .failure(let refusal):
                reply.refuse(
                    session.isEnded
                        ? Problem(.sessionEnded, "The session was ended while the intent was under way.")
                        : problem(refusal, feature))
            }
        }
    }

    private func problem(_ refusal: IntentRefusal, _ feature: FeatureID) -> Problem {
        Problem(refusal, feature, sessions.environment.features.definition(for: feature))
    }

    // MARK: Numbers

    /// Refusals with these statuses use an `Intent-Seq` up: the same request would be refused again. Others are the
    /// server's trouble, or the session's, and the number is still to come.
    private static let final: Set<Int> = [400, 403, 412, 413, 415, 422]

    /// What is kept of a refusal, to answer a repetition with.
    private func lastWord(
        _ refusal: IntentRefusal, _ feature: FeatureID, _ path: [UInt8]
    ) -> (status: Int, body: [UInt8])? {
        let problem = problem(refusal, feature)
        return Self.final.contains(problem.type.status) ? (problem.type.status, problem.body(instance: path)) : nil
    }

    /// A request is refused by its head, or because its body is too large.
    private func useUp(_ head: RequestHead, _ session: Session, _ problem: Problem) {
        guard let name = try? IntentName.read(head.fields), Self.final.contains(problem.type.status) else { return }
        session.useUp(name, status: problem.type.status, body: problem.body(instance: head.path))
    }

    /// The HTTP layer cut off a body that grew too large.
    func cutOff(_ head: RequestHead, _ problem: Problem) {
        guard let token = credentials.token(head.fields), case .live(let session)? = sessions.lookup(token),
            (try? crossSite.check(head.fields)) != nil
        else { return }
        useUp(head, session, problem)
    }

    private func answer(
        _ intent: IntentReply, _ feature: FeatureID, _ session: Session, _ preferences: Preferences
    ) -> Response {
        let form = AnswerForm(
            preferences, isSettled: intent.isSettled, isWaitGranted: intent.isWaitGranted, cap: cap)
        var response: Response
        switch form.status {
        case 204: response = Response(status: 204, fields: AnswerFields.intentEmpty)
        case 200:
            response = Response(status: 200, fields: AnswerFields.intent, body: .bytes(intent.state.view))
            response.fields.append(
                (name: "ETag", value: "\"\(session.entityTag(version: intent.state.version))\""))
        default:
            var object = JSONObject()
            object.add("intent", intent.intentID.text)
            object.add("session", session.id)
            object.add("feature", feature.text)
            object.add("version", intent.version)
            response = Response(status: 202, fields: AnswerFields.intent, body: .bytes(object.closed))
        }
        if let applied = form.applied { response.fields.append((name: "Preference-Applied", value: applied)) }
        if intent.isReplayed { response.fields.append((name: "Idempotency-Replayed", value: "true")) }
        return response
    }
}
