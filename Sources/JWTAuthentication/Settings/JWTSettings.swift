import MVIServer

/// The requirements that a JWT must meet to sign its bearer in.
public struct JWTSettings: Sendable, Equatable {
    /// The required `iss` of the tokens, compared byte by byte.
    @Setting(
        "jwt-issuer", .text, "The 'iss' of JWTs that clients sign in with, such as https://login.example.com/.",
        valueName: "issuer", prefix: "MVI")
    public var issuer: String?
    /// The names of this server. A token's `aud` must contain one of them.
    @Setting(
        "jwt-audience", .names,
        "Names of this server, separated by commas. The 'aud' of a JWT must contain one of them.",
        valueName: "audiences", prefix: "MVI")
    public var audiences: [String] = []
    /// The algorithms that tokens may be signed with; nil for all that fit: HS256 for a secret, every public-key
    /// algorithm for a key set. Each key of a set narrows them further by its type and its `alg`.
    @Setting(
        "jwt-algorithms", .algorithms,
        "Algorithms that JWTs may be signed with, separated by commas. The default is HS256 with --jwt-secret, and "
            + "every public-key algorithm with --jwt-keys.", valueName: "names", prefix: "MVI")
    public var algorithms: [SignatureAlgorithm]?
    /// The accepted `typ` values of a token's header, such as `at+jwt` (RFC 9068). Set it if the issuer makes several
    /// kinds of tokens and only one is for this server. Nil accepts any type, or none.
    @Setting(
        "jwt-types", .names,
        "Accepted values of the 'typ' of JWTs, such as at+jwt, separated by commas. Without it any type is "
            + "accepted.", valueName: "types", prefix: "MVI")
    public var types: [String]?
    /// The location of the issuer's public keys; nil with a secret.
    @Setting(
        "jwt-keys", .keySet, "The issuer's public keys: a file with a JWKS, or its https address.",
        valueName: "file or url", prefix: "MVI")
    public var keys: JWKSLocation?
    /// The secret that the issuer signs with; nil with public keys.
    @Setting(
        "jwt-secret", .jwtSecret,
        "The secret that the issuer signs with, at least 32 bytes. Other users of the machine see flags: use "
            + "--jwt-secret-file, or the variable.", valueName: "text", prefix: "MVI")
    public var secret: JWTSecret?
    /// The tolerated difference between the issuer's clock and the server's: it applies to `exp`, `nbf` and `iat`, and
    /// delays a principal's expiry after its token's `exp`. At most five minutes.
    public var leeway: Duration = .seconds(30)

    /// Creates empty settings.
    public init() {}

    /// Creates settings for an issuer with public keys.
    public init(issuer: String, audiences: [String], keys: JWKSLocation) {
        (self.issuer, self.audiences, self.keys) = (issuer, audiences, keys)
    }

    /// Creates settings for an issuer that shares a secret with the server.
    public init(issuer: String, audiences: [String], secret: JWTSecret) {
        (self.issuer, self.audiences, self.secret) = (issuer, audiences, secret)
    }
}
