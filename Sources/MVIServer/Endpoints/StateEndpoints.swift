import MVI
import MicroHTTP
import Sessions

/// `/features/{id}/state`.
struct StateEndpoints: Sendable {
    let sessions: SessionTable
    let crossSite: CrossSiteRule
    let addresses: ClientAddress
    /// Nil for a server without other nodes.
    let forwarder: Forwarder?

    var all: [Route] {
        [
            Route(
                "readState", .get, "/features/{id}/state",
                checkPath: Incoming.checkFeature(sessions.environment.features), instanceAccess: .read, .session(read)),
            Route("disposeStore", .delete, "/features/{id}/state", instanceAccess: .dispose, .session(dispose)),
        ]
    }

    @Sendable
    private func read(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        if caller.isByCookie { try crossSite.check(incoming.fields) }
        try QueryItems(incoming.head.query).checkNames([])
        let feature = try incoming.feature(sessions.environment.features)
        try sessions.environment.features.checkAccess(to: feature, caller.principal, .read)
        // A key's maker calls other services, so the request counts like an intent.
        if caller.makes(feature) { try caller.checkRate(incoming) }
        // A malformed field is ignored: the answer is the whole state.
        let known = try? EntityTags.read("if-none-match", of: incoming.fields)?.get()
        if incoming.isHead { return try head(caller, feature, known) }
        let wait = Preferences(incoming.fields).wait
        return { _, reply in
            let read: Forwarder.Attempt = { done in
                guard let wait, wait > 0, !sessions.isDraining else {
                    return answerNow(caller, feature, known, reply, done)
                }
                let seconds = min(wait, Int(sessions.environment.limits.longestWait.components.seconds))
                let client = caller.client(waitingFor: incoming.head, at: addresses.of(incoming.head))
                waitForNews(caller, client, feature, known, seconds, reply, done)
            }
            if !caller.target.observedElsewhere([feature]).isEmpty {
                return make(feature, incoming, caller, reply, again: read)
            }
            read { isAnswered in
                if !isAnswered { make(feature, incoming, caller, reply, again: read) }
            }
        }
    }

    /// Has the session's owner make a store or observe for it, then reads it here.
    private func make(
        _ feature: FeatureID, _ incoming: Incoming, _ caller: Caller, _ reply: Reply, again: @escaping Forwarder.Attempt
    ) {
        guard let forwarder else { return reply.refuse(Forwarder.unreachable) }
        forwarder.makeStores(
            [feature], incoming, ForwardedSession(caller.target), again: again,
            refuse: { refusal in
                switch refusal {
                case .problem(let problem): reply.refuse(problem)
                case .relayed(let response): reply.answer(response)
                }
            })
    }

    private func answerNow(
        _ caller: Caller, _ feature: FeatureID, _ known: EntityTags?, _ reply: Reply,
        _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        caller.target.state(of: feature, for: caller.client) { result in
            switch result {
            case .success(let state): reply.answer(answer(state, known))
            case .failure(let error) where error.code == .elsewhere: return done(false)
            case .failure(let refusal): reply.refuse(Problem(refusal, feature))
            }
            done(true)
        }
    }

    private func waitForNews(
        _ caller: Caller, _ client: SessionClient, _ feature: FeatureID, _ known: EntityTags?, _ seconds: Int,
        _ reply: Reply,
        _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        let answerState: @Sendable (Result<StateSnapshot, StoreError>) -> Void = { result in
            switch result {
            case .success(let state):
                var response = answer(state, known)
                response.fields.append(ResponseField("Preference-Applied", "wait=\(seconds)"))
                reply.answer(response)
            case .failure(let error) where error.code == .elsewhere: return done(false)
            case .failure(let refusal): reply.refuse(Problem(refusal, feature))
            }
            done(true)
        }
        guard let known else {
            return caller.target.settledState(
                of: feature, for: client, wait: .seconds(seconds), completion: answerState)
        }
        caller.target.state(
            of: feature, for: client, wait: .seconds(seconds), until: { !known.match($0) },
            completion: answerState)
    }

    private func answer(_ state: StateSnapshot, _ known: EntityTags?) -> Response {
        var fields = AnswerFields.state
        fields.append(ResponseField("ETag", "\"\(state.entityTag)\""))
        if state.isStale { fields.append(AnswerFields.stale) }
        return Response(status: known?.match(state) == true ? 304 : 200, fields: fields, body: .bytes(state.view))
    }

    /// Answers `HEAD` without making a store. A missing store has no version, so there is no tag.
    private func head(
        _ caller: Caller, _ feature: FeatureID, _ known: EntityTags?
    ) throws(Problem) -> Route.Answer {
        guard caller.target.hasStore(feature) else {
            let response = try headOfNew(caller, feature)
            return { _, reply in
                if let refusal = caller.target.refusal(of: caller.client, feature, .read) {
                    reply.refuse(Problem(refusal, feature))
                } else {
                    reply.answer(response)
                }
            }
        }
        return { _, reply in
            answerNow(caller, feature, known, reply) { isAnswered in
                guard !isAnswered else { return }
                // The store was disposed meanwhile, and another node would have to make it.
                do throws(Problem) { reply.answer(try headOfNew(caller, feature)) } catch { reply.refuse(error) }
            }
        }
    }

    private func headOfNew(_ caller: Caller, _ feature: FeatureID) throws(Problem) -> Response {
        do throws(StoreError) {
            return Response(
                status: 200, fields: AnswerFields.state,
                body: .bytes(try caller.target.initialState(of: feature, for: caller.client)))
        } catch {
            throw Problem(error, feature)
        }
    }

    @Sendable
    private func dispose(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        try crossSite.check(incoming.fields)
        try QueryItems(incoming.head.query).checkNames([])
        let feature = try incoming.feature(sessions.environment.features)
        try sessions.environment.features.checkAccess(to: feature, caller.principal, .dispose)
        // Otherwise a client could make and dispose stores at any rate, each with a commit.
        try caller.checkRate(incoming)
        if caller.makes(feature) {
            do throws(StoreError) {
                _ = try caller.target.initialState(of: feature, for: caller.client)
            } catch {
                if error.code == .featureNotFound { throw Problem(error, feature) }
            }
        }
        return { _, reply in
            let remove: Forwarder.Attempt = { done in
                // A missing store is as good as a disposed one: DELETE is idempotent.
                caller.target.removeStore(feature, for: caller.client) { result in
                    switch result {
                    case .success: reply.answer(Response(status: 204, fields: AnswerFields.sessionEmpty))
                    case .failure(let error) where error.code == .elsewhere: return done(false)
                    case .failure(let refusal): reply.refuse(Problem(refusal, feature))
                    }
                    done(true)
                }
            }
            remove { isAnswered in
                guard !isAnswered else { return }
                guard let forwarder else { return reply.refuse(Forwarder.unreachable) }
                forwarder.forward(
                    ForwardedRequest(
                        incoming: incoming, method: .delete, feature: feature, resource: .state, isRepeatable: true,
                        session: ForwardedSession(caller.target), reply: reply),
                    again: remove)
            }
        }
    }
}
