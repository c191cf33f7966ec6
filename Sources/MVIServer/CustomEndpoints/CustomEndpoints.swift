import Logging
import MVI
import MicroHTTP
import Sessions
import WireJSON

/// The routes of custom endpoints.
struct CustomEndpoints: Sendable {
    private let endpoints: [Endpoint]
    private let directory: SessionDirectory
    private let crossSite: CrossSiteRule
    private let identity: IdentityRule
    private let time: TimeSource
    private let logger: Logger?

    init(
        _ endpoints: [Endpoint], _ sessions: SessionTable, _ crossSite: CrossSiteRule, _ identity: IdentityRule,
        _ logger: Logger?
    ) {
        (self.endpoints, directory, self.logger) = (endpoints, SessionDirectory(sessions), logger)
        (self.crossSite, self.identity, time) = (crossSite, identity, sessions.environment.time)
    }

    var all: [Route] {
        endpoints.map { endpoint in
            Route(
                "custom", Route.Method(endpoint.method), endpoint.path, bodyLimit: endpoint.bodyLimit,
                .everyone { incoming throws(Problem) in
                    if endpoint.method != .get, !endpoint.allowsCrossSite { try crossSite.check(incoming.fields) }
                    try incoming.checkSize(limit: endpoint.bodyLimit)
                    return { body, reply in
                        let now = Timestamp(sinceEpoch: time.sinceEpoch())
                        answer(endpoint, EndpointRequest(incoming, body: body, identity, now: now), reply)
                    }
                })
        }
    }

    private func answer(_ endpoint: Endpoint, _ request: EndpointRequest, _ reply: Reply) {
        Task {
            do {
                reply.answer(Response(try await endpoint.handler(request, directory)))
            } catch let refusal as Refusal {
                reply.refuse(Problem(StoreError(refusal)))
            } catch let error as WireDecodingError {
                reply.refuse(Problem(error))
            } catch let error as StoreError {
                reply.refuse(Problem(error))
            } catch {
                logger?.error(
                    "A custom endpoint failed",
                    metadata: ["endpoint": "\(endpoint.method.rawValue) \(endpoint.path)", "error": "\(error)"])
                reply.refuse(Problem(.endpointFailed, "The endpoint failed; see the server's log."))
            }
        }
    }
}

extension Route.Method {
    fileprivate init(_ method: Endpoint.Method) {
        self =
            switch method {
            case .get: .get
            case .post: .post
            case .put: .put
            case .patch: .patch
            case .delete: .delete
            }
    }
}

extension Response {
    fileprivate init(_ response: EndpointResponse) {
        var fields = response.fields.map { ResponseField($0.name, $0.value) }
        func has(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name } }
        if !has("cache-control") { fields.append(ResponseField("Cache-Control", "no-store")) }
        if !has("x-content-type-options") { fields.append(AnswerFields.noSniff) }
        let contentType = fields.first { $0.name.lowercased() == "content-type" }?.value ?? ""
        for field in AnswerFields.security(of: contentType) where !has(field.name.lowercased()) { fields.append(field) }
        let status = (200..<600).contains(response.status) ? response.status : 500
        self.init(status: status, fields: fields, body: .bytes(response.body))
    }
}

extension Problem {
    /// A problem for a body that cannot be decoded.
    fileprivate init(_ error: WireDecodingError) {
        switch error {
        case .malformed(let offset, let reason):
            self.init(.invalidJSON, "The body is not JSON at byte \(offset): \(reason).")
        case .mismatch(let issues):
            self.init(.invalidBody, "The body is invalid; see `errors`.")
            self.issues = issues.map { Issue(pointer: $0.pointer, detail: $0.detail) }
        }
    }
}
