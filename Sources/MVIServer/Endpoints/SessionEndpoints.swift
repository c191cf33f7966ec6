import MVI
import MicroHTTP
import SessionJournal
import Sessions
import WireJSON

/// `/sessions`, `/sessions/current` and `/sessions/current/identity`.
struct SessionEndpoints: Sendable {
    let sessions: SessionTable
    let credentials: CallerResolver
    let crossSite: CrossSiteRule
    let identity: IdentityRule
    let longestBody: Int
    let quotas: AddressQuotas

    var all: [Route] {
        [
            Route(
                "createSession", .post, "/sessions", bodyLimit: bodyLimit, refusalsVary: AnswerFields.sessionVary,
                .everyone(create)),
            Route("describeSession", .get, "/sessions/current", .session(describe)),
            Route("updateSession", .put, "/sessions/current", bodyLimit: bodyLimit, .session(update)),
            Route("endSession", .delete, "/sessions/current", takesDamaged: true, takesExpired: true, .session(end)),
            Route(
                "signIn", .put, "/sessions/current/identity", bodyLimit: bodyLimit, takesExpired: true,
                .session(signIn)),
            Route(
                "signOut", .delete, "/sessions/current/identity", takesDamaged: true, takesExpired: true,
                .session(end)),
        ]
    }

    /// The maximal size of a body: a proof such as a JWT is larger than the other members.
    private var bodyLimit: Int { min(longestBody, identity.authenticator == nil ? 4_096 : 32_768) }

    /// Returns a function that decodes the body, after the head was checked.
    private func order(_ incoming: Incoming) throws(Problem) -> @Sendable ([UInt8]) throws(Problem) -> SessionOrder {
        try crossSite.check(incoming.fields)
        try incoming.checkSize(limit: bodyLimit)
        if incoming.hasBody { try MediaTypes.checkJSON(incoming.fields) }
        return { body throws(Problem) in try SessionOrder(body) }
    }

    // MARK: Making sessions

    @Sendable
    private func create(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let read = try order(incoming)
        return { body, reply in
            do throws(Problem) {
                let order = try read(body)
                if try identity.namedSubject(incoming.head) != nil || order.identity != nil {
                    return createIdentified(order, incoming.head, reply)
                }
                if order.shared {
                    throw Problem(
                        .badRequest, "`shared` requires an `identity`: only a subject's devices share a session.")
                }
                guard order.credential == .cookie, let token = credentials.tokenOfCookie(incoming.fields) else {
                    return createAnonymous(order, incoming.head, reply)
                }
                try credentials.find(token, incoming.head) { found in
                    answer(order, found, token, incoming.head, reply)
                }
            } catch {
                reply.refuse(error)
            }
        }
    }

    /// Answers with the session of a valid cookie, with any identity. If sign-in is required, not with an anonymous
    /// session.
    private func answer(
        _ order: SessionOrder, _ found: SessionLookup, _ token: SessionToken, _ head: RequestHead, _ reply: Reply
    ) {
        switch found {
        case .live(let session, let credential)
        where credential.map { !$0.isRevoked && identity.mayUse($0, head) } ?? !identity.isRequired:
            set(order.settings, of: session, credential, reply) {
                response(200, session, credential, token: token, head)
            }
        // The session may exist: a new cookie would replace the client's for good.
        case .failed(let refusal): reply.refuse(Problem(refusal))
        case .live, .ended, .unknown, .damaged: createAnonymous(order, head, reply)
        }
    }

    /// Throws if no new session can be made now.
    private func checkRoom(_ head: RequestHead) throws(Problem) {
        guard !sessions.isDraining else {
            throw Problem(.draining, "The server is stopping and makes no new sessions.", retryAfter: .seconds(2))
        }
        try checkRate(head)
    }

    /// Counts a new session of an address, or a check of an identity.
    private func checkRate(_ head: RequestHead) throws(Problem) {
        if let rate = quotas.sessionRate,
            let wait = quotas.takeSession(head, now: sessions.environment.time.monotonic())
        {
            throw Problem(
                "sessions", rate, wait,
                "Your address makes sessions or signs in more than \(rate.perSecond) times per second.")
        }
    }

    private func createAnonymous(_ order: SessionOrder, _ head: RequestHead, _ reply: Reply) {
        if identity.isRequired { return reply.refuse(IdentityRule.required) }
        do throws(Problem) { try checkRoom(head) } catch { return reply.refuse(error) }
        sessions.create(order.credential, settings: order.settings) { result in
            switch result {
            case .success(let made): reply.answer(response(201, made, head))
            case .failure(let refusal): reply.refuse(Problem(refusal))
            }
        }
    }

    /// Sets what a client has sent before the answer to it.
    ///
    /// - Parameter settings: nil if it has sent nothing.
    private func set(
        _ settings: ClientSettings?, of session: Session, _ credential: Credential?, _ reply: Reply,
        _ answer: @escaping @Sendable () -> Response
    ) {
        guard let settings else { return reply.answer(answer()) }
        Task(executorPreference: sessions.environment.executor) {
            do throws(StoreError) {
                try await sessions.set(settings, of: session, credential)
                reply.answer(answer())
            } catch {
                reply.refuse(Problem(error))
            }
        }
    }

    private func createIdentified(_ order: SessionOrder, _ head: RequestHead, _ reply: Reply) {
        // Counted before the proof is verified, which is the most expensive step.
        do throws(Problem) { try checkRoom(head) } catch { return reply.refuse(error) }
        Task(executorPreference: sessions.environment.executor) {
            do throws(Problem) {
                let (principal, proof) = try await identity.principal(order.identity, head)
                if let known = try await renewed(order, principal, proof, head) { return reply.answer(known) }
                let made = await sessions.create(
                    order.credential, for: principal, isShared: order.shared, settings: order.settings)
                switch made {
                case .success(let (made, session)): reply.answer(response(201, made, head, session, principal))
                case .failure(let error): throw problem(error)
                }
            } catch {
                reply.refuse(error)
            }
        }
    }

    /// The problem for a failed sign-in.
    private func problem(_ error: StoreError) -> Problem {
        error.code == .refused ? Problem(.identityRejected, error.detail) : Problem(error)
    }

    /// Keeps a valid cookie of the same subject and renews its principal.
    private func renewed(
        _ order: SessionOrder, _ principal: Principal, _ proof: [UInt8], _ head: RequestHead
    ) async throws(Problem) -> Response? {
        guard order.credential == .cookie, let token = credentials.tokenOfCookie(head.fields) else { return nil }
        let found = await withCheckedContinuation { continuation in
            sessions.find(token) { continuation.resume(returning: $0) }
        }
        if case .failed(let error) = found { throw Problem(error) }
        guard case .live(let session, let credential?) = found, !credential.isRevoked,
            session.isShared == order.shared, credential.principal?.identity == principal.identity
        else { return nil }
        let identified = await sessions.identify(session, token, credential, as: principal, proof: proof)
        if case .success = identified, let settings = order.settings {
            do throws(StoreError) { try await sessions.set(settings, of: session, credential) } catch {
                throw Problem(error)
            }
        }
        switch identified {
        case .success: return response(200, session, credential, token: token, head)
        // It has just ended: a new session replaces it.
        case .failure(let error) where error.code == .gone || error.code == .signedOut: return nil
        case .failure(let error): throw problem(error)
        }
    }

    // MARK: Signing in

    @Sendable
    private func signIn(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        let read = try order(incoming)
        return { body, reply in
            Task(executorPreference: sessions.environment.executor) {
                do throws(Problem) {
                    let order = try read(body)
                    try checkRate(incoming.head)
                    let (principal, proof) = try await identity.principal(order.identity, incoming.head)
                    reply.answer(
                        try await signIn(caller, incoming.head, principal, proof, keepsStores: order.keepsStores))
                } catch {
                    reply.refuse(error)
                }
            }
        }
    }

    private func signIn(
        _ caller: Caller, _ head: RequestHead, _ principal: Principal, _ proof: [UInt8], keepsStores: Bool
    ) async throws(Problem) -> Response {
        let result = await sessions.identify(
            caller.session, caller.token, caller.credential, as: principal, proof: proof, keepsStores: keepsStores)
        switch result {
        case .success(.renewed(let session, let credential)):
            return response(200, session, credential, token: nil, head)
        case .success(.signedIn(let session, let credential, let token)):
            return response(200, session, credential, token: token, head, replacing: caller.token)
        case .failure(let error) where error.code == .gone || error.code == .signedOut:
            throw credentials.ended()
        case .failure(let error): throw problem(error)
        }
    }

    // MARK: Reading and ending

    @Sendable
    private func describe(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        if caller.isByCookie { try crossSite.check(incoming.fields) }
        return { _, reply in
            let session = caller.session
            if let refusal = session.refusal(of: caller.client) {
                return reply.refuse(Problem(refusal))
            }
            var object = JSONObject()
            object.add("id", session.id)
            object.add("expiresAt", Timestamp(sinceEpoch: session.expiresAt(for: caller.credential)).wholeSeconds)
            object.add(caller.client.principal, isShared: session.isShared)
            let client = session.info(of: caller.client)
            if let locale = client.locale { object.add("locale", locale) }
            if let zone = client.timeZone { object.add("timeZone", zone) }
            object.add("stores", array: session.storeIDs.map { .json($0.text) })
            object.add("streams", session.streamCount)
            reply.answer(Response(status: 200, fields: AnswerFields.session, body: .bytes(object.close())))
        }
    }

    /// Replaces the locale and the time zone of the client: one that is missing is not known any more.
    @Sendable
    private func update(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        let read = try order(incoming)
        try caller.checkRate(incoming)
        return { body, reply in
            Task(executorPreference: sessions.environment.executor) {
                do throws(Problem) {
                    let order = try read(body)
                    do throws(StoreError) {
                        try await sessions.set(order.settings, of: caller.session, caller.credential)
                    } catch {
                        throw error.code == .gone || error.code == .signedOut ? credentials.ended() : Problem(error)
                    }
                    reply.answer(Response(status: 204, fields: AnswerFields.sessionEmpty))
                } catch {
                    reply.refuse(error)
                }
            }
        }
    }

    @Sendable
    private func end(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        try crossSite.check(incoming.fields)
        // A client that the proxy has signed out may still end its session.
        if let principal = caller.principal {
            try identity.checkSubject(principal, incoming.head, mayBeMissing: true)
        }
        let everywhere = QueryItems(incoming.head.query).values("everywhere").contains("true")
        return { _, reply in
            sessions.end(caller.session, caller.client, everywhere: everywhere) { result in
                switch result {
                case .success:
                    var response = Response(status: 204, fields: AnswerFields.sessionEmpty)
                    if caller.isByCookie { response.fields.append(credentials.cookies.clear(incoming.fields)) }
                    reply.answer(response)
                case .failure(let refusal): reply.refuse(Problem(refusal))
                }
            }
        }
    }

    // MARK: Answers

    /// The answer for a new session.
    private func response(
        _ status: Int, _ made: NewSession, _ head: RequestHead, _ session: Session? = nil,
        _ principal: Principal? = nil
    ) -> Response {
        var response = response(
            status, id: made.id, made.token, made.credential, expiresAt: made.expiresAt, principal,
            isShared: session?.isShared == true, head)
        response.fields.append(ResponseField("Location", "/sessions/current"))
        return response
    }

    /// The answer for an existing session.
    private func response(
        _ status: Int, _ session: Session, _ credential: Credential?, token: SessionToken?, _ head: RequestHead,
        replacing replaced: SessionToken? = nil
    ) -> Response {
        response(
            status, id: session.id, token, credential?.kind ?? session.credential,
            expiresAt: session.expiresAt(for: credential), credential?.principal, isShared: session.isShared, head,
            replacing: replaced)
    }

    private func response(
        _ status: Int, id: String, _ token: SessionToken?, _ kind: SessionCredential, expiresAt: Duration,
        _ principal: Principal?, isShared: Bool, _ head: RequestHead, replacing replaced: SessionToken? = nil
    ) -> Response {
        var object = JSONObject()
        object.add("id", id)
        if let token, kind == .bearer { object.add("token", token.text) }
        object.add("expiresAt", Timestamp(sinceEpoch: expiresAt).wholeSeconds)
        object.add(principal, isShared: isShared)
        var response = Response(status: status, fields: AnswerFields.session, body: .bytes(object.close()))
        if let token, kind == .cookie {
            response.fields += credentials.cookies.set(
                token.text, isSignedIn: principal != nil, for: head.fields, replacing: replaced?.text)
        }
        return response
    }
}

extension JSONObject {
    /// Adds the session's principal, if it has one.
    fileprivate mutating func add(_ principal: Principal?, isShared: Bool) {
        guard let principal else { return }
        var identity = JSONObject()
        identity.add("issuer", principal.issuer)
        identity.add("subject", principal.subject)
        if let expiry = principal.expiry { identity.add("expiresAt", expiry.wholeSeconds) }
        add("identity", json: identity.close())
        add("shared", isShared)
    }
}
