import MVI
import MicroHTTP
import Sessions
import WireJSON

/// A custom endpoint: a plain HTTP handler, such as a payment provider's webhook.
///
/// ```swift
/// Endpoint(.post, "/webhooks/payment") { request, sessions in
///     let payment = try request.decode(Payment.self)
///     try await sessions.perform(.paid(payment.id), on: Checkout.self, session: payment.session)
///     return .noContent
/// }
/// ```
///
/// It reads no cookies and has no caller's session: the handler has to verify the caller, for example by a signature
/// over the body's bytes. Requests of pages of other sites are refused for every method but `GET`, as by the server's
/// own endpoints. Webhooks do not come from browsers and are not affected.
public struct Endpoint: Sendable {
    /// The methods of endpoints.
    public enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// Answers a request. Any number run concurrently; a client waits at most 60 s. A `Refusal`, and an error of
    /// `decode`, becomes a problem document. Other errors are logged, and the client gets a 500.
    public typealias Handler = @Sendable (EndpointRequest, SessionDirectory) async throws -> EndpointResponse

    let method: Method
    let path: String
    let summary: String
    let bodyLimit: Int
    let allowsCrossSite: Bool
    let handler: Handler

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - method: the method of the requests.
    ///   - path: begins with `/` and has at most one parameter segment, as in `/orders/{id}/label`. A path of the
    ///     server itself is an error at the start.
    ///   - summary: one sentence for `/openapi.yaml`.
    ///   - bodyLimit: the maximal size of a body. `GET` and `DELETE` have none.
    ///   - allowsCrossSite: true if pages of other sites may use it, such as a bank or login that sends a browser back
    ///     with a form.
    ///   - handler: answers a request.
    public init(
        _ method: Method, _ path: String, summary: String = "", bodyLimit: Int = 64 * 1024,
        allowsCrossSite: Bool = false, handler: @escaping Handler
    ) {
        (self.method, self.path, self.summary, self.allowsCrossSite) = (method, path, summary, allowsCrossSite)
        self.bodyLimit = method == .get || method == .delete ? 0 : bodyLimit
        self.handler = handler
    }
}

/// A request to a custom endpoint.
public struct EndpointRequest: Sendable {
    private let incoming: Incoming
    private let identity: IdentityRule
    /// The body's bytes as received, for verifying a signature.
    public let body: [UInt8]
    /// The time on the server's clock when the body had arrived. A `TestServer` controls it.
    public let now: Timestamp

    init(_ incoming: Incoming, body: [UInt8], _ identity: IdentityRule, now: Timestamp) {
        (self.incoming, self.body, self.identity, self.now) = (incoming, body, identity, now)
    }

    /// Returns the value of a header field; nil if there is none. Cookies are not available. The field in which a proxy
    /// names the subject (`Authenticator.subjectField`) is available only if a trusted proxy set it, once and in UTF-8.
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        guard name != "cookie", identity.mayRead(name, incoming.head) else { return nil }
        return incoming.fields.values(named: name).first
    }

    /// The path's parameter; nil if there is none, or if it is malformed.
    public var parameter: String? { incoming.parameter.isEmpty ? nil : incoming.parameterText }

    /// Returns the values of a query parameter, in order.
    public func query(_ name: String) -> [String] {
        QueryItems(incoming.head.query).values(name).compactMap { $0 }
    }

    /// The client's address: the last one that the server's trusted proxies reported; without proxies, the
    /// connection's.
    public var remoteAddress: String { identity.addresses.of(incoming.head).description }

    /// Returns the decoded body. Its errors become a 400 or a 422 that lists the invalid places.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T { try WireJSON.decode(type, from: body) }
}

/// An answer of a custom endpoint.
public struct EndpointResponse: Sendable {
    /// The status, 200 to 599.
    public var status: Int
    /// The header fields. Unless set here, the server adds `Cache-Control: no-store`, `X-Content-Type-Options:
    /// nosniff`, and for HTML and SVG the `Content-Security-Policy` of its own page, which blocks inline scripts.
    public var fields: [(name: String, value: String)]
    /// The body's bytes.
    public var body: [UInt8]

    /// Creates an answer.
    public init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// 204.
    public static let noContent = EndpointResponse(status: 204)

    /// 200 with plain text.
    public static func text(_ text: String) -> EndpointResponse {
        EndpointResponse(status: 200, fields: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// Returns a JSON answer, with status 200 by default. Throws if JSON cannot hold the value.
    public static func json(_ value: some Encodable, status: Int = 200) throws -> EndpointResponse {
        EndpointResponse(
            status: status, fields: [("Content-Type", "application/json")], body: try WireJSON.encode(value))
    }
}

/// An error about a custom endpoint that cannot be served.
public struct EndpointError: Error, CustomStringConvertible, Sendable {
    /// The cause and a remedy.
    public let description: String

    /// - Parameter own: the server's own paths.
    static func check(_ endpoints: [Endpoint], _ own: Router) throws {
        var seen: Set<String> = []
        for endpoint in endpoints {
            let name = "the custom endpoint \(endpoint.method.rawValue) \(endpoint.path)"
            let probe = endpoint.path.replacing("{", with: "").replacing("}", with: "")
            guard endpoint.path.hasPrefix("/"), endpoint.path.count(where: { $0 == "{" }) <= 1 else {
                throw EndpointError("\(name) needs a path that begins with '/' and has one parameter at most")
            }
            guard seen.insert("\(endpoint.method.rawValue) \(endpoint.path)").inserted else {
                throw EndpointError("\(name) is declared twice; change one of the paths")
            }
            guard case .unknownPath = own.route(method: endpoint.method.rawValue, path: Array(probe.utf8)) else {
                throw EndpointError("\(name) has a path of the server itself; use another one, such as /hooks/…")
            }
        }
    }

    private init(_ description: String) { self.description = description }
}
