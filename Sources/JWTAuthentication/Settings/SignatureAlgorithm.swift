/// A signature algorithm of JWTs, named as in RFC 7518 section 3.1 and RFC 8037 section 3.1, without `none`.
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"

    /// True if issuer and server share a secret; false if the server has only the issuer's public key.
    public var isSymmetric: Bool { shortestSecret != nil }

    /// The fewest bytes of its secret: the length of the hash (RFC 7518 section 3.2). Nil for a public-key algorithm.
    public var shortestSecret: Int? {
        switch self {
        case .hs256: 32
        case .hs384: 48
        case .hs512: 64
        default: nil
        }
    }

    /// The algorithms with a secret.
    static let symmetric = allCases.filter(\.isSymmetric)
    /// The algorithms with public keys.
    static let asymmetric = allCases.filter { !$0.isSymmetric }
}
