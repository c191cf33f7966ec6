import LibCrypto

@testable import JWTAuthentication

/// An issuer's key pair with one algorithm: it signs tokens and has its public half as a JWK.
struct TestKey: Sendable {
    let algorithm: SignatureAlgorithm
    /// The members of the public JWK without `kid`, `alg` and braces.
    let members: String
    /// The signature over bytes.
    let sign: @Sendable ([UInt8]) throws -> [UInt8]

    /// The public half with a `kid`, and with other members, such as `"use":"sig"`.
    func jwk(_ id: String?, _ others: String...) -> String {
        "{" + ([members] + (id.map { ["\"kid\":\"\($0)\""] } ?? []) + others).joined(separator: ",") + "}"
    }

    static let rsaKey = Result { try PrivateKey.rsa() }
    static let otherRSAKey = Result { try PrivateKey.rsa() }

    static func rsa(
        _ algorithm: SignatureAlgorithm = .rs256, _ key: Result<PrivateKey, any Error> = rsaKey
    ) throws -> TestKey {
        let key = try key.get()
        let numbers = try key.rsaNumbers()
        return TestKey(
            algorithm: algorithm,
            members: #""kty":"RSA","n":"\#(base64URL(numbers.modulus))","e":"\#(base64URL(numbers.exponent))""#
        ) { try key.sign($0, hash: "SHA\(algorithm.rawValue.suffix(3))", isPSS: algorithm.rawValue.hasPrefix("PS")) }
    }

    static func p256() throws -> TestKey { try ec(.es256, "P-256", "SHA256", 32) }
    static func p384() throws -> TestKey { try ec(.es384, "P-384", "SHA384", 48) }
    static func p521() throws -> TestKey { try ec(.es512, "P-521", "SHA512", 66) }

    static func ed25519() throws -> TestKey {
        let key = try PrivateKey.ed25519()
        let x = base64URL(try key.ed25519Bytes())
        return TestKey(algorithm: .edDSA, members: #""kty":"OKP","crv":"Ed25519","x":"\#(x)""#) {
            try key.sign($0, hash: nil)
        }
    }

    static func secret(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm = .hs256) -> TestKey {
        let hashes: [SignatureAlgorithm: HashFunction] = [.hs256: .sha256, .hs384: .sha384, .hs512: .sha512]
        let key = HMACKey(bytes, hashes[algorithm] ?? .sha256)
        return TestKey(algorithm: algorithm, members: #""kty":"oct""#) { key.code(for: $0) }
    }

    private static func ec(
        _ algorithm: SignatureAlgorithm, _ curve: String, _ hash: String, _ size: Int
    ) throws -> TestKey {
        let key = try PrivateKey.ec(curve)
        let point = try key.point(size)
        return TestKey(
            algorithm: algorithm,
            members: #""kty":"EC","crv":"\#(curve)","x":"\#(base64URL(point.x))","y":"\#(base64URL(point.y))""#
        ) { try key.sign($0, hash: hash, size: size) }
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
