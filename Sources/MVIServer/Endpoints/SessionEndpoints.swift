import MVI
import MicroHTTP
import Sessions
import WireJSON

/// `/sessions` and `/sessions/current`.
struct SessionEndpoints: Sendable {
    let sessions: SessionTable
    let credentials: Credentials
    let crossSite: CrossSiteRule
    let bodyLimit: Int
    let quotas: AddressQuotas

    var all: [Endpoint] {
        [
            Endpoint(
                "createSession", .post, "/sessions", bodyLimit: bodyLimit, refusalsVary: AnswerFields.sessionVary,
                .everyone(create)),
            Endpoint("describeSession", .get, "/sessions/current", .session(describe)),
            Endpoint("endSession", .delete, "/sessions/current", takesDamaged: true, .session(end)),
        ]
    }

    private struct Order: Decodable {
        let credential: String?
    }

    @Sendable
    private func create(_ incoming: Incoming) throws(Problem) -> Endpoint.Answer {
        try crossSite.check(incoming.fields)
        try incoming.checkSize(limit: bodyLimit)
        if incoming.hasBody { try MediaTypes.checkJSON(incoming.fields) }
        let (fields, head) = (incoming.fields, incoming.head)
        return { body, reply in
            do throws(Problem) {
                let credential = try credential(body)
                guard credential == .cookie, let token = credentials.tokenOfCookie(fields) else {
                    return create(credential, head, reply)
                }
                sessions.find(token) { found in
                    switch found {
                    case .live(let session):
                        reply.answer(
                            response(
                                200,
                                NewSession(
                                    id: session.id, token: token, credential: session.credential,
                                    expiresAt: session.expiresAt)))
                    // It may be there: another one in its place would take the client's away for good.
                    case .failed(let refusal): reply.refuse(Problem(refusal))
                    case .ended, .unknown, .damaged: create(credential, head, reply)
                    }
                }
            } catch {
                reply.refuse(error)
            }
        }
    }

    private func create(_ credential: Session.Credential, _ head: RequestHead, _ reply: Reply) {
        guard !sessions.isDraining else {
            return reply.refuse(
                Problem(.draining, "The server is stopping and makes no new sessions.", retryAfter: .seconds(2)))
        }
        if let rate = quotas.sessionRate,
            let wait = quotas.takeSession(head, now: sessions.environment.time.monotonic())
        {
            return reply.refuse(
                Problem("sessions", rate, wait, "Your address makes sessions faster than \(rate.perSecond) a second."))
        }
        sessions.create(credential) { result in
            switch result {
            case .success(let made):
                var response = response(201, made)
                response.fields.append(ResponseField("Location", "/sessions/current"))
                reply.answer(response)
            case .failure(let refusal): reply.refuse(Problem(refusal))
            }
        }
    }

    private func credential(_ body: [UInt8]) throws(Problem) -> Session.Credential {
        guard !body.isEmpty else { return .bearer }
        let order: Order
        do throws(WireDecodingError) {
            order = try WireJSON.decode(Order.self, from: body)
        } catch {
            switch error {
            case .malformed(let offset, let reason):
                throw Problem(.invalidJSON, "The body is not JSON at byte \(offset): \(reason).")
            case .mismatch:
                throw Problem(.badRequest, "The body must be an object such as {\"credential\":\"cookie\"}.")
            }
        }
        switch order.credential {
        case nil, "bearer": return .bearer
        case "cookie": return .cookie
        default: throw Problem(.badRequest, "`credential` must be \"bearer\" or \"cookie\".")
        }
    }

    private func response(_ status: Int, _ session: NewSession) -> Response {
        var object = JSONObject()
        object.add("id", session.id)
        if session.credential == .bearer { object.add("token", session.token.text) }
        object.add("expiresAt", Timestamp(sinceEpoch: session.expiresAt).wholeSeconds)
        var response = Response(status: status, fields: AnswerFields.session, body: .bytes(object.close()))
        if session.credential == .cookie { response.fields.append(credentials.cookies.set(session.token.text)) }
        return response
    }

    @Sendable
    private func describe(_ incoming: Incoming, _ caller: Caller) -> Endpoint.Answer {
        { _, reply in
            var object = JSONObject()
            object.add("id", caller.session.id)
            object.add("expiresAt", Timestamp(sinceEpoch: caller.session.expiresAt).wholeSeconds)
            object.add("stores", array: caller.session.storeIDs.map { .json($0.text) })
            object.add("streams", caller.session.streamCount)
            reply.answer(Response(status: 200, fields: AnswerFields.session, body: .bytes(object.close())))
        }
    }

    @Sendable
    private func end(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Endpoint.Answer {
        try crossSite.check(incoming.fields)
        return { _, reply in
            sessions.end(caller.session) { result in
                switch result {
                case .success:
                    var response = Response(status: 204, fields: AnswerFields.sessionEmpty)
                    if caller.isByCookie { response.fields.append(credentials.cookies.clear) }
                    reply.answer(response)
                case .failure(let refusal): reply.refuse(Problem(refusal))
                }
            }
        }
    }
}
