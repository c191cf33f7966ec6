import CLibCrypto

/// A public key that verifies signatures.
///
/// `@unchecked Sendable`: the key never changes after its creation; a verification has its own context, and OpenSSL
/// locks the values that it caches with a key (openssl-threads(7)).
package final class VerificationKey: @unchecked Sendable {
    package enum Curve: Sendable {
        case p256, p384, p521

        fileprivate var name: String {
            switch self {
            case .p256: "P-256"
            case .p384: "P-384"
            case .p521: "P-521"
            }
        }

        /// The size of a coordinate in bytes.
        package var size: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }
    }

    private enum Kind: Equatable { case rsa, ec(Curve), ed25519 }

    private let key: OpaquePointer
    private let kind: Kind

    private init?(_ key: OpaquePointer?, _ kind: Kind) {
        guard let key else {
            ERR_clear_error()
            return nil
        }
        (self.key, self.kind) = (key, kind)
    }

    deinit { EVP_PKEY_free(key) }

    /// An RSA key from its modulus and exponent, the most significant byte first.
    ///
    /// Nil for a modulus of fewer than 2048 bits or an even one, and for an exponent that is even, 1, or longer than 33
    /// bits: OpenSSL itself accepts them.
    package static func rsa(modulus: [UInt8], exponent: [UInt8]) -> VerificationKey? {
        // OpenSSL expects the machine's byte order, which is little-endian on all of Swift's platforms.
        var (modulus, exponent) = (littleEndian(modulus), littleEndian(exponent))
        guard let last = modulus.last, modulus.count * 8 - last.leadingZeroBitCount >= 2_048, modulus[0] & 1 == 1,
            let first = exponent.first, first & 1 == 1, exponent != [1],
            exponent.count < 5 || exponent.count == 5 && exponent[4] == 1
        else { return nil }
        return VerificationKey(clibcrypto_rsa_key(&modulus, modulus.count, &exponent, exponent.count), .rsa)
    }

    /// A key from a point's coordinates. Nil if their length differs from the curve's, or the point is not on it.
    package static func ec(_ curve: Curve, x: [UInt8], y: [UInt8]) -> VerificationKey? {
        guard x.count == curve.size, y.count == curve.size else { return nil }
        // An uncompressed point (SEC 1 section 2.3.3).
        var point = [4] + x + y
        return VerificationKey(clibcrypto_ec_key(curve.name, &point, point.count), .ec(curve))
    }

    /// A key from its 32 bytes; nil for any other length.
    package static func ed25519(_ bytes: [UInt8]) -> VerificationKey? {
        VerificationKey(
            EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count), .ed25519)
    }

    /// True if the signature of the message was made with this key's private half.
    package func isSignature(_ signature: [UInt8], of message: ArraySlice<UInt8>, by scheme: SignatureScheme) -> Bool {
        switch (kind, scheme) {
        case (.rsa, .rsaPKCS1), (.rsa, .rsaPSS), (.ed25519, .ed25519): return verify(signature, message, scheme)
        case (.ec(let curve), .ecdsa):
            return signature.count == 2 * curve.size && verify(Self.der(signature), message, scheme)
        default: return false
        }
    }

    private func verify(_ signature: [UInt8], _ message: ArraySlice<UInt8>, _ scheme: SignatureScheme) -> Bool {
        let context = EVP_MD_CTX_new()
        defer {
            EVP_MD_CTX_free(context)
            // A bad signature leaves errors, which the thread's next user of OpenSSL would take for its own.
            ERR_clear_error()
        }
        // Freed with its context.
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit_ex(context, &parameters, scheme.hash?.name, nil, nil, key, nil) == 1 else {
            return false
        }
        if case .rsaPSS = scheme {
            guard EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return message.withUnsafeBufferPointer {
            EVP_DigestVerify(context, signature, signature.count, $0.baseAddress, $0.count) == 1
        }
    }

    /// Encodes R and S as a sequence of two integers (RFC 3279 section 2.2.3) for OpenSSL.
    private static func der(_ signature: [UInt8]) -> [UInt8] {
        let half = signature.count / 2
        let integers = [signature[..<half], signature[half...]].flatMap { number in
            var digits = Array(number.drop { $0 == 0 })
            // The first bit is the sign.
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        // For P-521 the length exceeds the short form.
        return [0x30] + (integers.count < 0x80 ? [] : [0x81]) + [UInt8(integers.count)] + integers
    }

    private static func littleEndian(_ number: [UInt8]) -> [UInt8] { number.drop { $0 == 0 }.reversed() }
}
