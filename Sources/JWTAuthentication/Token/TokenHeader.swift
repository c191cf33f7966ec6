import MVI
import MVIServer

/// The header members about a token's signature (RFC 7515 section 4.1). They are not verified: they only select among
/// the server's own keys and algorithms.
package struct TokenHeader {
    package let algorithm: SignatureAlgorithm
    /// The `kid`; nil if there is none.
    let keyID: String?

    /// Members that contain a key of the sender, or the address of one.
    private static let foreignKeys: [ClaimName] = ["jku", "jwk", "x5u", "x5c"]

    /// - Parameters:
    ///   - permitted: the accepted algorithms.
    ///   - types: the accepted values of `typ`; nil for any, or none.
    package init(
        _ members: [ClaimName: ClaimValue], permitted: Set<SignatureAlgorithm>, types: [String]? = nil
    ) throws(AuthenticationError) {
        try Self.checkType(members["typ"], types)
        // Extensions that a reader must understand (section 4.1.11); none is supported.
        guard members["crit"] == nil else {
            throw AuthenticationError(.rejected, "The JWT's header has 'crit'; this server supports no extensions.")
        }
        for name in Self.foreignKeys where members[name] != nil {
            throw AuthenticationError(
                .rejected, "The JWT's header has '\(name)'; keys come from the server's settings only.")
        }
        // RFC 8725 section 3.1: the server chooses the algorithm. Names are case-sensitive.
        guard let name = members["alg"]?.string, let algorithm = SignatureAlgorithm(rawValue: name),
            name.utf8.elementsEqual(algorithm.rawValue.utf8), permitted.contains(algorithm)
        else {
            throw AuthenticationError(.rejected, "This server does not accept the JWT's algorithm.")
        }
        self.algorithm = algorithm
        switch members["kid"] {
        case nil: keyID = nil
        case .string(let id): keyID = id
        default: throw AuthenticationError(.rejected, "The JWT's 'kid' is not a string.")
        }
    }

    /// Compares a media type without regard to case; `application/` may be omitted (section 4.1.9).
    private static func checkType(_ type: ClaimValue?, _ permitted: [String]?) throws(AuthenticationError) {
        guard let permitted else { return }
        guard let type = type?.string.map(bareType), permitted.contains(where: { bareType($0) == type }) else {
            throw AuthenticationError(.rejected, "This server does not accept the JWT's 'typ'.")
        }
    }

    private static func bareType(_ type: String) -> [UInt8] {
        let bytes = type.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        let prefix = Array("application/".utf8)
        return bytes.starts(with: prefix) ? Array(bytes.dropFirst(prefix.count)) : bytes
    }
}
