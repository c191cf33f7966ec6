import JWTKit
import MVI

/// A public key of a key set: RSA (RFC 7518 section 6.3), EC (section 6.2) or Ed25519 (RFC 8037 section 2).
enum PublicKey {
    case rsa(Insecure.RSA.PublicKey)
    case p256(ES256PublicKey)
    case p384(ES384PublicKey)
    case p521(ES512PublicKey)
    case ed25519(EdDSA.PublicKey)

    /// Why a key cannot be used.
    struct Unusable: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// Bits of an RSA key at most: a longer one makes each check slow.
    private static let longestModulus = 8_192

    init(_ members: [ClaimName: ClaimValue]) throws(Unusable) {
        switch members["kty"]?.string {
        case "RSA": self = try Self.rsaKey(members)
        case "EC": self = try Self.ecKey(members)
        case "OKP":
            guard members["crv"]?.string == "Ed25519" else { throw Unusable("its curve is not Ed25519") }
            let x = try Self.number("x", members, bytes: 32)
            self = try Self.made { .ed25519(try EdDSA.PublicKey(x: x, curve: .ed25519)) }
        default: throw Unusable("its type is none of RSA, EC and OKP")
        }
    }

    /// The algorithms that fit its type and its curve.
    var algorithms: [SignatureAlgorithm] {
        switch self {
        case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        case .p256: [.es256]
        case .p384: [.es384]
        case .p521: [.es512]
        case .ed25519: [.edDSA]
        }
    }

    /// What checks signatures of that algorithm; nil for one that does not fit.
    func verifier(_ algorithm: SignatureAlgorithm) async -> SignatureVerifier? {
        // A collection of one key: jwt-kit falls back to a collection's first key for a `kid` that it does not know.
        let collection = JWTKeyCollection()
        switch (self, algorithm) {
        case (.rsa(let key), .rs256): await collection.add(rsa: key, digestAlgorithm: .sha256)
        case (.rsa(let key), .rs384): await collection.add(rsa: key, digestAlgorithm: .sha384)
        case (.rsa(let key), .rs512): await collection.add(rsa: key, digestAlgorithm: .sha512)
        case (.rsa(let key), .ps256): await collection.add(pss: key, digestAlgorithm: .sha256)
        case (.rsa(let key), .ps384): await collection.add(pss: key, digestAlgorithm: .sha384)
        case (.rsa(let key), .ps512): await collection.add(pss: key, digestAlgorithm: .sha512)
        case (.p256(let key), .es256): await collection.add(ecdsa: key)
        case (.p384(let key), .es384): await collection.add(ecdsa: key)
        case (.p521(let key), .es512): await collection.add(ecdsa: key)
        case (.ed25519(let key), .edDSA): await collection.add(eddsa: key)
        default: return nil
        }
        return (try? await collection.getKey()).map { SignatureVerifier($0) }
    }

    private static func rsaKey(_ members: [ClaimName: ClaimValue]) throws(Unusable) -> PublicKey {
        let (modulus, exponent) = (try number("n", members), try number("e", members))
        guard let bytes = Base64URL.decode(modulus.utf8), bytes.count <= longestModulus / 8 + 1 else {
            throw Unusable("its modulus has more than \(longestModulus) bits")
        }
        return try made { .rsa(try Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent)) }
    }

    private static func ecKey(_ members: [ClaimName: ClaimValue]) throws(Unusable) -> PublicKey {
        switch members["crv"]?.string {
        case "P-256":
            let point = (x: try number("x", members, bytes: 32), y: try number("y", members, bytes: 32))
            return try made { .p256(try ES256PublicKey(parameters: point)) }
        case "P-384":
            let point = (x: try number("x", members, bytes: 48), y: try number("y", members, bytes: 48))
            return try made { .p384(try ES384PublicKey(parameters: point)) }
        case "P-521":
            let point = (x: try number("x", members, bytes: 66), y: try number("y", members, bytes: 66))
            return try made { .p521(try ES512PublicKey(parameters: point)) }
        default: throw Unusable("its curve is none of P-256, P-384 and P-521")
        }
    }

    /// A member that is a number in base64url, with its length if that is fixed.
    private static func number(
        _ name: ClaimName, _ members: [ClaimName: ClaimValue], bytes count: Int? = nil
    ) throws(Unusable) -> String {
        guard let text = members[name]?.string, let bytes = Base64URL.decode(text.utf8), !bytes.isEmpty,
            count.map({ $0 == bytes.count }) ?? true
        else { throw Unusable("its '\(name)' is missing or not what the key's type needs") }
        return text
    }

    private static func made(_ key: () throws -> PublicKey) throws(Unusable) -> PublicKey {
        do { return try key() } catch { throw Unusable("it is not a good key (RSA keys have 2048 bits at least)") }
    }
}
