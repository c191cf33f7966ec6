import CLibCrypto
import LibCrypto

/// A key pair that signs.
///
/// `@unchecked Sendable`: nothing changes the key after its creation.
final class PrivateKey: @unchecked Sendable {
    /// OpenSSL refused a call, or has no memory.
    struct Failure: Error {}

    private let key: OpaquePointer

    private init(_ type: String, _ prepare: (OpaquePointer) -> Int32 = { _ in 1 }) throws {
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard let context, EVP_PKEY_keygen_init(context) == 1, prepare(context) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw Failure() }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Creates an RSA key of 2048 bits.
    static func rsa() throws -> PrivateKey { try PrivateKey("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, 2_048) } }

    /// Creates a key on a curve, by its name in a JWK.
    static func ec(_ curve: String) throws -> PrivateKey {
        try PrivateKey("EC") { EVP_PKEY_CTX_set_group_name($0, curve) }
    }

    static func ed25519() throws -> PrivateKey { try PrivateKey("ED25519") }

    /// The public numbers of an RSA key.
    func rsaNumbers() throws -> (modulus: [UInt8], exponent: [UInt8]) {
        (try number(OSSL_PKEY_PARAM_RSA_N), try number(OSSL_PKEY_PARAM_RSA_E))
    }

    /// The public point of a key on a curve, with coordinates of that many bytes.
    func point(_ size: Int) throws -> (x: [UInt8], y: [UInt8]) {
        (try number(OSSL_PKEY_PARAM_EC_PUB_X, size), try number(OSSL_PKEY_PARAM_EC_PUB_Y, size))
    }

    /// The public half of an Ed25519 key.
    func ed25519Bytes() throws -> [UInt8] {
        var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { throw Failure() }
        return bytes
    }

    /// The public half of an RSA key of 2048 bits as a SubjectPublicKeyInfo (RFC 5280 section 4.1).
    func rsaInfo() throws -> [UInt8] {
        let count = i2d_PublicKey(key, nil)
        guard count == 270 else { throw Failure() }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        bytes.withUnsafeMutableBufferPointer {
            var place = $0.baseAddress
            i2d_PublicKey(key, &place)
        }
        // The sequence, rsaEncryption without parameters, and the bit string that the key is in.
        let head: [UInt8] = [
            0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05,
            0x00, 0x03, 0x82, 0x01, 0x0f, 0x00,
        ]
        return head + bytes
    }

    /// Returns a signature in the form of a JWS.
    ///
    /// - Parameter size: the number of bytes of each number of an ECDSA signature.
    func sign(_ message: [UInt8], hash: String?, isPSS: Bool = false, size: Int? = nil) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        guard EVP_DigestSignInit_ex(context, &parameters, hash, nil, nil, key, nil) == 1 else { throw Failure() }
        if isPSS {
            guard EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
            else { throw Failure() }
        }
        var count = 0
        guard EVP_DigestSign(context, nil, &count, message, message.count) == 1 else { throw Failure() }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { throw Failure() }
        return size.map { Self.numbers(signature.prefix(count), $0) } ?? Array(signature.prefix(count))
    }

    /// The two integers of a DER sequence.
    private static func numbers(_ der: ArraySlice<UInt8>, _ size: Int) -> [UInt8] {
        var rest = der.dropFirst(der[1] == 0x81 ? 3 : 2)
        return (0..<2).flatMap { _ in
            let end = rest.startIndex + 2 + Int(rest[rest.startIndex + 1])
            let digits = rest[(rest.startIndex + 2)..<end].drop { $0 == 0 }
            rest = rest[end...]
            return [UInt8](repeating: 0, count: size - digits.count) + digits
        }
    }

    private func number(_ name: String, _ size: Int? = nil) throws -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { throw Failure() }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: size ?? Int(BN_num_bits(number) + 7) / 8)
        guard BN_bn2binpad(number, &bytes, Int32(bytes.count)) == bytes.count else { throw Failure() }
        return bytes
    }
}
