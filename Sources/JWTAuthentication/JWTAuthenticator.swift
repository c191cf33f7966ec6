import Logging
import MVI
import MVIServer

/// Authenticates clients by the JWTs of one issuer (RFC 7519).
///
/// ```swift
/// let settings = JWTSettings(
///     issuer: "https://login.example.com/", audiences: ["shop"],
///     keys: .url("https://login.example.com/.well-known/jwks.json"))
/// let authenticator = try await JWTAuthenticator(settings, logger: logger)
/// ```
///
/// A token is valid if a key of the issuer signed it with a permitted algorithm, and its issuer, audience, subject and
/// times are right. The principal contains all of its claims.
public struct JWTAuthenticator: Authenticator {
    private enum Keys: Sendable {
        case secret(KeySet)
        case published(KeyCache)
    }

    private let permitted: Set<SignatureAlgorithm>
    private let types: [String]?
    private let rules: ClaimRules
    private let keys: Keys
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    /// Creates an authenticator that is ready for use.
    ///
    /// A key file is read before this returns. A key address is read in the background: until its keys arrive, sign-ins
    /// wait for them or fail with `unavailable`.
    ///
    /// - Parameters:
    ///   - settings: checked first.
    ///   - logger: logs each change of the keys and each failed read, never a token or a secret.
    /// - Throws: `SettingError` for settings that are incomplete or contradict each other, and for a file without keys.
    public init(_ settings: JWTSettings, logger: Logger = Logger(label: "jwt")) async throws(SettingError) {
        try await self.init(settings, logger: logger, environment: .system)
    }

    init(_ settings: JWTSettings, logger: Logger, environment: JWTEnvironment) async throws(SettingError) {
        try settings.check()
        permitted = settings.permittedAlgorithms
        types = settings.types
        rules = ClaimRules(
            issuer: settings.issuer ?? "", audiences: settings.audiences, leeway: settings.leeway)
        now = environment.now
        self.logger = logger
        switch (settings.secret, settings.keys) {
        case (.some(let secret), _): keys = .secret(KeySet(secret, for: permitted))
        case (nil, .file(let path)):
            let cache = KeyCache(KeyFile(path).source, for: permitted, logger: logger, uptime: environment.uptime)
            keys = .published(cache)
            await cache.prepare()
            guard let failure = await cache.failure else { break }
            throw SettingError(
                name: "jwt-keys", given: path, expected: "the path of a file with a JWKS, but \(failure)")
        case (nil, .url(let address)):
            let fetch = environment.fetch
            let source = KeySource(name: "\(JWKSLocation.url(address))", pace: .address) { _ throws(KeyReadError) in
                .document(try await fetch(address))
            }
            let cache = KeyCache(source, for: permitted, logger: logger, uptime: environment.uptime)
            keys = .published(cache)
            Task { await cache.prepare() }
        case (nil, nil): preconditionFailure("checked settings have keys or a secret")
        }
    }

    /// The issuer of the tokens.
    public var issuers: [String] { [rules.issuer] }

    /// Returns the principal of a proof whose `identity` is a JWT.
    ///
    /// Throws an `AuthenticationError`: `rejected` for an invalid token, `expired` for an expired one, `unavailable` if
    /// the issuer's keys cannot be read.
    public func authenticate(_ proof: IdentityProof) async throws -> Principal {
        do throws(AuthenticationError) {
            return try await principal(proof)
        } catch {
            logger.debug("A JWT was refused", metadata: ["reason": "\(error)"])
            throw error
        }
    }

    private func principal(_ proof: IdentityProof) async throws(AuthenticationError) -> Principal {
        guard let text = proof.identity, !text.isEmpty else {
            throw AuthenticationError(.rejected, "The member \"identity\" contains no JWT.")
        }
        let token = try CompactToken(text)
        let header = try TokenHeader(token.header, permitted: permitted, types: types)
        guard try await verifier(header).isGood(token.signature, of: token.signedBytes) else {
            throw AuthenticationError(.rejected, "The JWT's signature is invalid.")
        }
        return try rules.principal(try token.claims(), now: now())
    }

    private func verifier(_ header: TokenHeader) async throws(AuthenticationError) -> SignatureVerifier {
        switch keys {
        case .published(let cache): return try await cache.verifier(header)
        case .secret(let set):
            guard case .one(let verifier) = set.match(id: header.keyID, header.algorithm) else {
                throw AuthenticationError(.rejected, "This server does not accept the JWT's algorithm.")
            }
            return verifier
        }
    }
}
