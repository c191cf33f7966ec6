import LibCrypto
import MVI

/// A public key of a key set: RSA (RFC 7518 section 6.3), EC (section 6.2) or Ed25519 (RFC 8037 section 2).
struct PublicKey {
    let key: VerificationKey
    /// The algorithms that fit its type and its curve.
    let algorithms: [SignatureAlgorithm]

    /// The reason why a key cannot be used.
    struct Unusable: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// The largest number of bits of an RSA key: longer keys make each verification slow.
    private static let longestModulus = 8_192

    init(_ members: [ClaimName: ClaimValue]) throws(Unusable) {
        let key: VerificationKey?
        switch members["kty"]?.string {
        case "RSA":
            key = try Self.rsaKey(members)
            algorithms = [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        case "EC":
            let (curve, algorithm) = try Self.curve(members)
            key = .ec(
                curve, x: try Self.number("x", members, bytes: curve.size),
                y: try Self.number("y", members, bytes: curve.size))
            algorithms = [algorithm]
        case "OKP":
            guard members["crv"]?.string == "Ed25519" else { throw Unusable("its curve is not Ed25519") }
            key = .ed25519(try Self.number("x", members, bytes: 32))
            algorithms = [.edDSA]
        default: throw Unusable("its type is none of RSA, EC and OKP")
        }
        guard let key else { throw Unusable("it is not a valid key (RSA keys have at least 2048 bits)") }
        self.key = key
    }

    private static func rsaKey(_ members: [ClaimName: ClaimValue]) throws(Unusable) -> VerificationKey? {
        let (modulus, exponent) = (try number("n", members), try number("e", members))
        guard modulus.count <= longestModulus / 8 + 1 else {
            throw Unusable("its modulus has more than \(longestModulus) bits")
        }
        return .rsa(modulus: modulus, exponent: exponent)
    }

    private static func curve(
        _ members: [ClaimName: ClaimValue]
    ) throws(Unusable) -> (VerificationKey.Curve, SignatureAlgorithm) {
        switch members["crv"]?.string {
        case "P-256": (.p256, .es256)
        case "P-384": (.p384, .es384)
        case "P-521": (.p521, .es512)
        default: throw Unusable("its curve is none of P-256, P-384 and P-521")
        }
    }

    /// Returns a member that is a number in base64url. `length` is its fixed number of bytes, if there is one.
    private static func number(
        _ name: ClaimName, _ members: [ClaimName: ClaimValue], bytes count: Int? = nil
    ) throws(Unusable) -> [UInt8] {
        guard let text = members[name]?.string, let bytes = Base64URLText.decode(text.utf8), !bytes.isEmpty,
            count.map({ $0 == bytes.count }) ?? true
        else { throw Unusable("its '\(name)' is missing or not what the key's type needs") }
        return bytes
    }
}
