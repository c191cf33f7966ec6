import MVI
import MicroHTTP
import Sessions
import WireJSON

/// A custom endpoint: a plain HTTP handler of the server's author, such as a payment provider's webhook.
///
/// ```swift
/// Endpoint(.post, "/webhooks/payment") { request, sessions in
///     let payment = try request.decode(Payment.self)
///     try await sessions.perform(.paid(payment.id), on: Checkout.self, session: payment.session)
///     return .noContent
/// }
/// ```
///
/// It reads no cookies and knows no session of the caller's: the caller has to prove who it is by what the handler
/// checks, such as a signature over the body's bytes. Pages of other sites are refused as by the server's own endpoints,
/// for every method but `GET`; a webhook is sent by no browser and passes.
public struct Endpoint: Sendable {
    /// The methods that an endpoint may have.
    public enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// Answers a request. Any number run at once; a client waits 60 s at most. A `Refusal` becomes a problem document of its
    /// kind, and so does a body that `decode` cannot read; whatever else is thrown is logged, and the client gets a 500.
    public typealias Handler = @Sendable (EndpointRequest, SessionDirectory) async throws -> EndpointResponse

    let method: Method
    let path: String
    let summary: String
    let bodyLimit: Int
    let allowsCrossSite: Bool
    let handler: Handler

    /// An endpoint.
    ///
    /// - Parameters:
    ///   - method: the method of its requests.
    ///   - path: begins with `/`; at most one segment is a parameter, as in `/orders/{id}/label`. A path of the server's own is
    ///     refused when the server starts.
    ///   - summary: one sentence for `/openapi.yaml`.
    ///   - bodyLimit: bytes of a body; none is taken with `GET` and `DELETE`.
    ///   - allowsCrossSite: whether pages of other sites may use it, such as a bank's or a login's that sends a browser back
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
    /// The body's bytes, as they came: what a signature is made over.
    public let body: [UInt8]

    init(_ incoming: Incoming, body: [UInt8], _ identity: IdentityRule) {
        self.incoming = incoming
        self.body = body
        self.identity = identity
    }

    /// The value of a header field; nil if there is none. Cookies are not handed over, and the field by which a proxy names
    /// the subject (`Authenticator.subjectField`) only if a trusted proxy set it, once and in UTF-8.
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        guard name != "cookie", identity.mayRead(name, incoming.head) else { return nil }
        return incoming.fields.values(named: name).first
    }

    /// The path's parameter; nil if the path has none, or if it is not well encoded.
    public var parameter: String? { incoming.parameter.isEmpty ? nil : incoming.parameterText }

    /// The values of a query parameter, in order.
    public func query(_ name: String) -> [String] {
        QueryItems(incoming.head.query).values(name).compactMap { $0 }
    }

    /// The client's address: the last one that the server's trusted proxies saw; without them the connection's.
    public var remoteAddress: String { identity.addresses.of(incoming.head).description }

    /// The body as a value. What it throws becomes a 400 or a 422 with what is wrong where.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T { try WireJSON.decode(type, from: body) }
}

/// An answer of a custom endpoint.
public struct EndpointResponse: Sendable {
    /// The status, 200 to 599.
    public var status: Int
    /// Header fields. Added where none says otherwise: `Cache-Control: no-store`, `X-Content-Type-Options: nosniff`, and for
    /// HTML and SVG the `Content-Security-Policy` of the server's own page, which allows no script that stands in the page.
    public var fields: [(name: String, value: String)]
    /// The body's bytes.
    public var body: [UInt8]

    /// An answer of its parts.
    public init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// 204.
    public static let noContent = EndpointResponse(status: 204)

    /// 200 with plain text.
    public static func text(_ text: String) -> EndpointResponse {
        EndpointResponse(status: 200, fields: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// A value as JSON, with status 200 unless another is given. Throws where JSON cannot hold it.
    public static func json(_ value: some Encodable, status: Int = 200) throws -> EndpointResponse {
        EndpointResponse(
            status: status, fields: [("Content-Type", "application/json")], body: try WireJSON.encode(value))
    }
}

/// The reason for which a custom endpoint cannot be served.
public struct EndpointError: Error, CustomStringConvertible, Sendable {
    /// The fault and its remedy.
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
                throw EndpointError("\(name) is there twice; give one of them another path")
            }
            guard case .unknownPath = own.route(method: endpoint.method.rawValue, path: Array(probe.utf8)) else {
                throw EndpointError("\(name) has a path of the server's own; give it another, such as /hooks/…")
            }
        }
    }

    private init(_ description: String) { self.description = description }
}
