import MicroHTTP
import Sessions
import WireJSON

/// `/sessions` and `/sessions/current`.
struct SessionOperations: Sendable {
    let sessions: SessionTable
    let credentials: Credentials
    let crossSite: CrossSiteRule
    let bodyLimit: Int

    private struct Order: Decodable {
        let credential: String?
    }

    func create(_ incoming: Incoming) throws(Problem) -> Call.Answer {
        try crossSite.check(incoming.fields)
        try incoming.checkSize(limit: bodyLimit)
        if incoming.hasBody { try MediaTypes.checkJSON(incoming.fields) }
        let fields = incoming.fields
        return { body, reply in
            do throws(Problem) {
                reply.answer(try create(body, fields))
            } catch {
                reply.refuse(error)
            }
        }
    }

    private func create(_ body: [UInt8], _ fields: HeaderFields) throws(Problem) -> Response {
        let credential = try credential(body)
        if credential == .cookie, let found = credentials.sessionOfCookie(fields) {
            return response(200, found.session, found.token)
        }
        guard !sessions.isDraining else {
            throw Problem(.draining, "The server is stopping and makes no new sessions.", retryAfter: .seconds(2))
        }
        guard let made = sessions.create(credential) else {
            throw Problem(
                .tooManySessions, "The server has as many sessions as it may have.", retryAfter: .seconds(60))
        }
        var response = response(201, made.session, made.token)
        response.fields.append((name: "Location", value: "/sessions/current"))
        return response
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

    private func response(_ status: Int, _ session: Session, _ token: SessionToken) -> Response {
        var object = JSONObject()
        object.add("id", session.id)
        if session.credential == .bearer { object.add("token", token.text) }
        object.add("expiresAt", Timestamp.text(sinceEpoch: session.expiresAt))
        var response = Response(status: status, fields: AnswerFields.session, body: .bytes(object.closed))
        if session.credential == .cookie { response.fields.append(credentials.cookies.set(token.text)) }
        return response
    }

    func describe(_ caller: Caller) -> Call.Answer {
        { _, reply in
            var object = JSONObject()
            object.add("id", caller.session.id)
            object.add("expiresAt", Timestamp.text(sinceEpoch: caller.session.expiresAt))
            object.add("stores", array: caller.session.storeIDs.map { .json($0.text) })
            object.add("streams", caller.session.streamCount)
            reply.answer(Response(status: 200, fields: AnswerFields.session, body: .bytes(object.closed)))
        }
    }

    func end(_ caller: Caller) -> Call.Answer {
        { _, reply in
            sessions.end(caller.session, .ended)
            var response = Response(status: 204, fields: AnswerFields.sessionEmpty)
            if caller.isByCookie { response.fields.append(credentials.cookies.clear) }
            reply.answer(response)
        }
    }
}
