import FoundationEssentials
import Locking
import MVI
import MVIClient
import Testing
import WireJSON

/// A client of a ``TestServer`` with a session of its own. It sends each request once over a socket and returns the
/// answer unchanged.
public final class TestClient: Sendable {
    /// The form in which a client stores its credential.
    public enum Credential: Sendable {
        /// A token in `Authorization`, as in an app.
        case bearer
        /// A cookie, as in a browser.
        case cookie
    }

    private struct Session: Decodable {
        let id: String
        var token: String?
    }

    /// The session's id, which features know.
    public let session: String
    private let server: TestServer
    private let credential: Credential
    private let field: Lock<String>

    fileprivate init(
        _ server: TestServer, _ identity: String?, _ credential: Credential, isShared: Bool, _ locale: String?,
        _ timeZone: String?
    ) async throws {
        (self.server, self.credential) = (server, credential)
        var order = [#""credential":"\#(credential)""#]
        if let locale { order.append(#""locale":\#(try Self.json(locale))"#) }
        if let timeZone { order.append(#""timeZone":\#(try Self.json(timeZone))"#) }
        if let identity { order.append(#""identity":\#(try Self.json(identity)),"shared":\#(isShared)"#) }
        let answer = try await server.request("POST", "/sessions", body: "{\(order.joined(separator: ","))}")
        guard answer.status == 201 || answer.status == 200 else {
            throw TestServerError("The server made no session for the client: \(answer).")
        }
        let made = try answer.decode(Session.self)
        session = made.id
        field = Lock("")
        take(made, answer)
    }

    private static func json(_ text: String) throws -> String {
        String(decoding: try WireJSON.encode(text), as: UTF8.self)
    }

    private func take(_ session: Session, _ answer: TestAnswer) {
        switch credential {
        case .bearer: if let token = session.token { field.withLock { $0 = "Bearer \(token)" } }
        case .cookie:
            if let cookie = answer.fields["set-cookie"]?.prefix(while: { $0 != ";" }) {
                field.withLock { $0 = String(cookie) }
            }
        }
    }

    // MARK: Signing in

    /// Signs in or renews the principal, which may change the results of access rules. Fails the test if the server
    /// refuses it.
    public func signIn(as principal: Principal, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await signIn(identity: TestSignIn.identity(of: principal), sourceLocation: sourceLocation)
    }

    /// Signs in with a proof for the server's own authenticator, such as a JWT.
    public func signIn(identity: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let answer = try await request(
            "PUT", "/sessions/current/identity", body: #"{"identity":\#(Self.json(identity))}"#)
        if answer.status == 200 { return take(try answer.decode(Session.self), answer) }
        Issue.record("The server did not sign the client in: \(answer)", sourceLocation: sourceLocation)
    }

    // MARK: Requests

    /// Returns a store of the session, without a request.
    ///
    /// - Parameter key: the key of the instance, for a feature with keys.
    public func store<F: Feature>(_ feature: F.Type, key: String? = nil) -> ClientStore<F> {
        ClientStore(client: self, id: key.map { "\(F.name):\($0)" } ?? F.name)
    }

    /// Sends a request with the session's credential.
    public func request(
        _ method: String, _ path: String, body: String = "", fields: [String: String] = [:]
    ) async throws -> TestAnswer {
        try await server.request(method, path, body: body, fields: fields.merging(self.fields) { $1 })
    }

    /// The header field with the session's credential, for the test's own requests.
    public var fields: [String: String] {
        [credential == .bearer ? "Authorization" : "Cookie": field.withLock { $0 }]
    }

    /// Opens a stream of stores and returns after the server has accepted it. The stream ends with the test.
    ///
    /// - Parameter stores: the ids of the stores: ``ClientStore/id``.
    public func events(of stores: String...) async throws -> ClientEvents {
        let events = ClientEvents()
        let target = "/events?" + stores.map { "feature=\($0)" }.joined(separator: "&")
        let client = try server.plainClient
        let answer = try await client.send("GET", target, fields.map { ($0, $1) }) { events.take($0) }
        guard answer.status == 200 else {
            throw TestServerError("The server opened no stream of \(stores): \(TestAnswer(answer)).")
        }
        events.keep(client)
        return events
    }
}

extension TestServer {
    /// Creates a client with a new session.
    ///
    /// - Parameters:
    ///   - principal: the principal to sign in as; nil for no sign-in. The server's authenticator is not called.
    ///   - credential: the form of the session's credential.
    ///   - isShared: true for the session that all such clients of the user share.
    ///   - locale: the client's language tag, such as `de-DE`; nil for none.
    ///   - timeZone: the client's IANA time zone, such as `Europe/Berlin`; nil for none.
    /// - Throws: ``TestServerError`` if the server makes no session.
    public func client(
        as principal: Principal? = nil, credential: TestClient.Credential = .bearer, isShared: Bool = false,
        locale: String? = nil, timeZone: String? = nil
    ) async throws -> TestClient {
        try await TestClient(
            self, principal.map { try TestSignIn.identity(of: $0) }, credential, isShared: isShared, locale, timeZone)
    }

    /// Creates a client with a new session that signs in with a proof for the server's own authenticator, such as a
    /// JWT.
    public func client(
        identity: String, credential: TestClient.Credential = .bearer, isShared: Bool = false,
        locale: String? = nil, timeZone: String? = nil
    ) async throws -> TestClient {
        try await TestClient(self, identity, credential, isShared: isShared, locale, timeZone)
    }

    /// Sends a request without a session: to a custom endpoint, such as a webhook, or for a page.
    ///
    /// - Parameters:
    ///   - path: the path with the query; begins with a slash.
    ///   - body: JSON, unless the fields have another `Content-Type`; no body if it is empty.
    /// - Throws: `RemoteError` if the server does not answer.
    public func request(
        _ method: String, _ path: String, body: String = "", fields: [String: String] = [:]
    ) async throws -> TestAnswer {
        var fields = fields
        if !body.isEmpty, fields["Content-Type"] == nil { fields["Content-Type"] = "application/json" }
        let answer = try await plainClient.send(method, path, fields.map { ($0, $1) }, body: Array(body.utf8))
        return TestAnswer(answer)
    }

    fileprivate var plainClient: PlainClient {
        get throws {
            guard let url = URL(string: url) else { throw TestServerError("\"\(url)\" is not a URL.") }
            return PlainClient(url)
        }
    }
}
