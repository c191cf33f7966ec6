import MVIServer

/// What a JWT must be for its bearer to be signed in.
public struct JWTSettings: Sendable, Equatable {
    /// The `iss` of the tokens, character by character.
    public var issuer: String?
    /// One of these must be in a token's `aud`.
    public var audiences: [String] = []
    /// The algorithms that tokens may be signed with; nil for all that fit: HS256 for a secret, every one with public
    /// keys for a key set. A key of the set narrows them further by its type and its `alg`.
    public var algorithms: [SignatureAlgorithm]?
    /// One of these must be the `typ` of a token's header, such as `at+jwt` (RFC 9068): an issuer that makes tokens of several
    /// kinds names each by its type, and only one kind is meant for this server. Nil for any type, or none.
    public var types: [String]?
    /// Where the issuer's public keys are; nil with a secret.
    public var keys: JWKSLocation?
    /// The secret that the issuer signs with; nil with public keys.
    public var secret: JWTSecret?
    /// How far the issuer's clock and the server's may be apart: `exp`, `nbf` and `iat` are judged that leniently, and a
    /// principal expires so much after its token's `exp`. Five minutes at most.
    public var leeway: Duration = .seconds(30)

    /// Settings to be filled in.
    public init() {}

    /// Settings for an issuer with public keys.
    public init(issuer: String, audiences: [String], keys: JWKSLocation) {
        (self.issuer, self.audiences, self.keys) = (issuer, audiences, keys)
    }

    /// Settings for an issuer that shares a secret with the server.
    public init(issuer: String, audiences: [String], secret: JWTSecret) {
        (self.issuer, self.audiences, self.secret) = (issuer, audiences, secret)
    }
}
