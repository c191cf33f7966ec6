import Locking
import Logging
import MVI
import MVIServer

@testable import JWTAuthentication

/// The start time of all tests: 2026-01-31T12:00:00Z.
let beginning = 1_769_860_800

/// An issuer that signs tokens, and clocks that a test sets.
struct TestIssuer: Sendable {
    static let name = "https://login.example.com/"
    static let audience = "shop"

    let key: TestKey
    var id: String? = "key-1"

    /// Returns a valid payload with changed members; nil removes one. Values are JSON.
    static func payload(_ changes: [String: String?] = [:]) -> String {
        var members: [String: String?] = [
            "iss": "\"\(name)\"", "aud": "\"\(audience)\"", "sub": "\"user-7\"", "exp": "\(beginning + 600)",
            "iat": "\(beginning - 60)",
        ]
        members.merge(changes) { $1 }
        let texts = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return "{\(texts.sorted().joined(separator: ","))}"
    }

    /// The header of its tokens, with further members.
    func header(_ others: String...) -> String {
        let named = id.map { [#""kid":"\#($0)""#] } ?? []
        return "{" + ([#""alg":"\#(key.algorithm.rawValue)""#] + named + others).joined(separator: ",") + "}"
    }

    /// A signed token of any header and payload.
    func token(_ payload: String = payload(), header: String? = nil) throws -> String {
        let signed = "\(base64URL(header ?? self.header())).\(base64URL(payload))"
        return "\(signed).\(base64URL(try key.sign(Array(signed.utf8))))"
    }
}

/// The clocks and the network of an authenticator in a test.
final class TestWorld: Sendable {
    private struct State {
        var time: Duration = .zero
        var fetches = 0
        var fetched: [UInt8]?
        var reply: @Sendable () async throws(KeyReadError) -> [UInt8]
    }

    private let state: Lock<State>
    let log = TestLog()

    /// Creates a world in which the issuer's address has that content.
    init(_ content: [UInt8] = []) {
        state = Lock(State(reply: { () throws(KeyReadError) in content }))
    }

    /// The number of requests to the address.
    var fetches: Int { state.withLock { $0.fetches } }

    /// The address's last answer that is a key set; nil if there was none.
    var fetched: [UInt8]? { state.withLock { $0.fetched } }

    /// Advances both clocks.
    func advance(by time: Duration) { state.withLock { $0.time += time } }

    /// Sets the answer of the address from now on.
    func answer(_ content: [UInt8]) { answer { () throws(KeyReadError) in content } }

    func answer(_ reply: @escaping @Sendable () async throws(KeyReadError) -> [UInt8]) {
        state.withLock { $0.reply = reply }
    }

    var environment: JWTEnvironment {
        JWTEnvironment(
            now: { Timestamp(sinceEpoch: .seconds(beginning) + self.state.withLock { $0.time }) },
            uptime: { self.state.withLock { $0.time } },
            fetch: { _ throws(KeyReadError) in
                let reply = self.state.withLock { state in
                    state.fetches += 1
                    return state.reply
                }
                let content = try await reply()
                let document = try? KeySetDocument.read(content, for: Set(SignatureAlgorithm.allCases))
                if document != nil { self.state.withLock { $0.fetched = content } }
                return content
            })
    }

    /// An authenticator with the keys of the address.
    func authenticator(_ algorithms: [SignatureAlgorithm]? = nil) async throws -> TestAuthenticator {
        try await authenticator(.url("https://login.example.com/keys"), algorithms)
    }

    func authenticator(
        _ keys: JWKSLocation, _ algorithms: [SignatureAlgorithm]? = nil
    ) async throws -> TestAuthenticator {
        var settings = JWTSettings(issuer: TestIssuer.name, audiences: ["api", TestIssuer.audience], keys: keys)
        settings.algorithms = algorithms
        let base = try await JWTAuthenticator(settings, logger: log.logger, environment: environment)
        return TestAuthenticator(base: base, world: self)
    }

    /// An authenticator with a secret.
    func authenticator(
        _ secret: JWTSecret, _ algorithms: [SignatureAlgorithm]? = nil
    ) async throws -> TestAuthenticator {
        var settings = JWTSettings(issuer: TestIssuer.name, audiences: [TestIssuer.audience], secret: secret)
        settings.algorithms = algorithms
        let base = try await JWTAuthenticator(settings, logger: log.logger, environment: environment)
        return TestAuthenticator(base: base, world: self, secret: secret)
    }
}

extension JWTAuthenticator {
    /// Returns the verdict on a token.
    func verdict(_ token: String?) async throws -> Verdict {
        do {
            return .accepted(try await authenticate(IdentityProof(identity: token)))
        } catch let error as AuthenticationError {
            return .refused(error.code, error.detail)
        }
    }
}

enum Verdict: Sendable, Equatable {
    case accepted(Principal)
    case refused(AuthenticationError.Code, String)

    var principal: Principal? { if case .accepted(let principal) = self { principal } else { nil } }
    var code: AuthenticationError.Code? { if case .refused(let code, _) = self { code } else { nil } }
    var detail: String? { if case .refused(_, let detail) = self { detail } else { nil } }
    var isAccepted: Bool { principal != nil }
}
