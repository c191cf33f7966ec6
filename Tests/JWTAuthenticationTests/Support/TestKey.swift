import CryptoExtras
import JWTKit

@testable import JWTAuthentication

/// An issuer's key pair with one algorithm: signs tokens, and knows its public half as a JWK.
struct TestKey: Sendable {
    let algorithm: SignatureAlgorithm
    let signer: any JWTAlgorithm
    /// The members of the public JWK without `kid`, `alg` and braces.
    let members: String

    /// The signature over those bytes.
    func sign(_ bytes: [UInt8]) throws -> [UInt8] { try signer.sign(bytes) }

    /// The public half with a `kid`, and with other members, such as `"use":"sig"`.
    func jwk(_ id: String?, _ others: String...) -> String {
        "{" + ([members] + (id.map { ["\"kid\":\"\($0)\""] } ?? []) + others).joined(separator: ",") + "}"
    }

    static let rsaKey = make { try JWTKit.Insecure.RSA.PrivateKey(backing: .init(keySize: .bits2048)) }
    static let otherRSAKey = make { try JWTKit.Insecure.RSA.PrivateKey(backing: .init(keySize: .bits2048)) }

    static func rsa(
        _ algorithm: SignatureAlgorithm = .rs256, _ key: JWTKit.Insecure.RSA.PrivateKey = rsaKey
    ) async throws -> TestKey {
        let collection = JWTKeyCollection()
        switch algorithm {
        case .rs256: await collection.add(rsa: key, digestAlgorithm: .sha256)
        case .rs384: await collection.add(rsa: key, digestAlgorithm: .sha384)
        case .rs512: await collection.add(rsa: key, digestAlgorithm: .sha512)
        case .ps256: await collection.add(pss: key, digestAlgorithm: .sha256)
        case .ps384: await collection.add(pss: key, digestAlgorithm: .sha384)
        default: await collection.add(pss: key, digestAlgorithm: .sha512)
        }
        let numbers = try key.publicKey.getKeyPrimitives()
        let (modulus, exponent) = (base64URL(Array(numbers.modulus)), base64URL(Array(numbers.publicExponent)))
        return TestKey(
            algorithm: algorithm, signer: try await collection.getKey(),
            members: #""kty":"RSA","n":"\#(modulus)","e":"\#(exponent)""#)
    }

    static func p256() async throws -> TestKey { try await ec(ES256PrivateKey(), .es256, "P-256") }
    static func p384() async throws -> TestKey { try await ec(ES384PrivateKey(), .es384, "P-384") }
    static func p521() async throws -> TestKey { try await ec(ES512PrivateKey(), .es512, "P-521") }

    static func ed25519() async throws -> TestKey {
        let key = try EdDSA.PrivateKey()
        let collection = JWTKeyCollection()
        await collection.add(eddsa: key)
        let x = base64URL(Array(key.publicKey.rawRepresentation))
        return TestKey(
            algorithm: .edDSA, signer: try await collection.getKey(),
            members: #""kty":"OKP","crv":"Ed25519","x":"\#(x)""#)
    }

    static func secret(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm = .hs256) async throws -> TestKey {
        let collection = JWTKeyCollection()
        let digests: [SignatureAlgorithm: DigestAlgorithm] = [.hs256: .sha256, .hs384: .sha384, .hs512: .sha512]
        await collection.add(hmac: HMACKey(from: bytes), digestAlgorithm: digests[algorithm] ?? .sha256)
        return TestKey(algorithm: algorithm, signer: try await collection.getKey(), members: #""kty":"oct""#)
    }

    private static func ec<Curve>(
        _ key: ECDSA.PrivateKey<Curve>, _ algorithm: SignatureAlgorithm, _ curve: String
    ) async throws -> TestKey {
        let collection = JWTKeyCollection()
        await collection.add(ecdsa: key)
        guard let point = key.publicKey.parameters else { throw NoPoint() }
        return TestKey(
            algorithm: algorithm, signer: try await collection.getKey(),
            members: #""kty":"EC","crv":"\#(curve)","x":"\#(urlSafe(point.x))","y":"\#(urlSafe(point.y))""#)
    }

    private struct NoPoint: Error {}

    private static func make<Key>(_ key: () throws -> Key) -> Key {
        do { return try key() } catch { fatalError("no key could be made: \(error)") }
    }
}

/// A key set of those keys.
func keySet(_ keys: String...) -> [UInt8] { Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8) }

/// Bytes in base64url.
func base64URL(_ bytes: [UInt8]) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let part = bytes[start..<min(start + 3, bytes.count)]
        let bits = part.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - part.count))
        for place in 0...part.count { text.append(letters[Int(bits >> UInt32(18 - 6 * place) & 63)]) }
    }
    return text
}

/// A text in base64url.
func base64URL(_ text: String) -> String { base64URL(Array(text.utf8)) }

/// Base 64 as jwt-kit writes coordinates, with the URL's alphabet.
private func urlSafe(_ text: String) -> String {
    String(text.compactMap { $0 == "=" ? nil : $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
}
