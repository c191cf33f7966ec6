import MVI
import MVIServer

/// What a token's header says of its signature (RFC 7515 section 4.1). Not proven: it may choose among the server's own
/// keys and algorithms, and nothing else.
struct TokenHeader {
    let algorithm: SignatureAlgorithm
    /// The `kid`; nil if there is none.
    let keyID: String?

    /// Members that would bring a key of the sender's along, or an address of one.
    private static let foreignKeys = ["jku", "jwk", "x5u", "x5c"]

    init(_ members: [String: ClaimValue], permitted: Set<SignatureAlgorithm>) throws(AuthenticationError) {
        // Extensions that a reader must understand (section 4.1.11); none is known here.
        guard members["crit"] == nil else {
            throw AuthenticationError(.rejected, "The JWT's header has 'crit', whose extensions are not known here.")
        }
        for name in Self.foreignKeys where members[name] != nil {
            throw AuthenticationError(
                .rejected, "The JWT's header has '\(name)'; keys come from the server's settings only.")
        }
        // RFC 8725 section 3.1: the algorithm is the server's choice. Names differ by case.
        guard let name = members["alg"]?.string, let algorithm = SignatureAlgorithm(rawValue: name),
            name.utf8.elementsEqual(algorithm.rawValue.utf8), permitted.contains(algorithm)
        else {
            throw AuthenticationError(.rejected, "The JWT's algorithm is none that this server takes.")
        }
        self.algorithm = algorithm
        switch members["kid"] {
        case nil: keyID = nil
        case .string(let id): keyID = id
        default: throw AuthenticationError(.rejected, "The JWT's 'kid' is not a text.")
        }
    }
}
