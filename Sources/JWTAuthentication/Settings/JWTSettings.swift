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
    /// Where the issuer's public keys are; nil with a secret.
    public var keys: JWKSLocation?
    /// The secret that the issuer signs with; nil with public keys.
    public var secret: JWTSecret?
    /// How far the issuer's clock and the server's may be apart: `exp`, `nbf` and `iat` are judged that leniently. Five
    /// minutes at most.
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
