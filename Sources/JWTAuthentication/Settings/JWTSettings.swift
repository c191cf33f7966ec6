import MVIServer

/// The requirements of a JWT that signs its bearer in.
public struct JWTSettings: Sendable, Equatable {
    /// The `iss` of the tokens, character by character.
    @Setting(
        "jwt-issuer", .text, "The 'iss' of JWTs that clients sign in with, such as https://login.example.com/.",
        valueName: "issuer", prefix: "MVI")
    public var issuer: String?
    /// One of these must be in a token's `aud`.
    @Setting(
        "jwt-audience", .names,
        "Names of this server in the 'aud' of JWTs, with commas between them; one of them must be there.",
        valueName: "audiences", prefix: "MVI")
    public var audiences: [String] = []
    /// The algorithms that tokens may be signed with; nil for all that fit: HS256 for a secret, every one with public
    /// keys for a key set. A key of the set narrows them further by its type and its `alg`.
    @Setting(
        "jwt-algorithms", .algorithms,
        "Algorithms that JWTs may be signed with, with commas between them; without it HS256 with --jwt-secret, and "
            + "all with public keys with --jwt-keys.", valueName: "names", prefix: "MVI")
    public var algorithms: [SignatureAlgorithm]?
    /// One of these must be the `typ` of a token's header, such as `at+jwt` (RFC 9068): an issuer that makes tokens of several
    /// kinds names each by its type, and only one kind is meant for this server. Nil for any type, or none.
    @Setting(
        "jwt-types", .names,
        "The 'typ' of JWTs, such as at+jwt, with commas between them; one of them must be there. Without it any type is "
            + "taken.", valueName: "types", prefix: "MVI")
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
    /// The tolerated difference between the issuer's clock and the server's, for `exp`, `nbf` and `iat`. A principal
    /// expires this much after its token's `exp`. Five minutes at most.
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
