import MicroHTTP
import Sessions

/// `POST /features/{id}/intents`, the path that most requests take: no task, no actor, and nothing made before it is
/// known to be needed.
struct IntentOperations: Sendable {
    let sessions: SessionTable
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
        try incoming.checkSize(limit: bodyLimit)
        try MediaTypes.checkJSON(fields)
        let key = try IdempotencyKey.read(fields)
        let condition = try condition(fields, session)
        let preferences = Preferences(fields)
        return { body, reply in
            accept(
                IntentRequest(body: body, idempotencyKey: key, ifMatch: condition, wait: wait(preferences)),
                feature, session, preferences, reply)
        }
    }

    /// A key that names nothing is found out before the body is looked at, without making a store for a request that
    /// may yet be refused.
    private func checkInstance(_ feature: FeatureID, _ session: Session) throws(Problem) {
        guard feature.key != nil, session.existingState(of: feature) == nil else { return }
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
        session.accept(request, for: feature) { result in
            switch result {
            case .success(let intent): reply.answer(answer(intent, feature, session, preferences))
            case .failure(let refusal):
                let features = sessions.environment.features
                reply.refuse(
                    session.isEnded
                        ? Problem(.sessionEnded, "The session was ended while the intent was under way.")
                        : Problem(refusal, feature, features.definition(for: feature)))
            }
        }
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
