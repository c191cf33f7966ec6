import LibCrypto

/// One key with one algorithm that fits its type.
enum SignatureVerifier: Sendable {
    case secret(HMACKey)
    case publicKey(VerificationKey, SignatureScheme)

    /// Returns true if that key made the signature over those bytes.
    func isGood(_ signature: [UInt8], of bytes: ArraySlice<UInt8>) -> Bool {
        switch self {
        case .secret(let key): key.isCode(signature, for: Array(bytes))
        case .publicKey(let key, let scheme): key.isSignature(signature, of: bytes, by: scheme)
        }
    }
}

extension SignatureVerifier {
    /// Creates a verifier for a key of a set. Nil for an algorithm with a secret.
    init?(_ key: VerificationKey, _ algorithm: SignatureAlgorithm) {
        let scheme: SignatureScheme
        switch algorithm {
        case .rs256: scheme = .rsaPKCS1(.sha256)
        case .rs384: scheme = .rsaPKCS1(.sha384)
        case .rs512: scheme = .rsaPKCS1(.sha512)
        case .ps256: scheme = .rsaPSS(.sha256)
        case .ps384: scheme = .rsaPSS(.sha384)
        case .ps512: scheme = .rsaPSS(.sha512)
        case .es256: scheme = .ecdsa(.sha256)
        case .es384: scheme = .ecdsa(.sha384)
        case .es512: scheme = .ecdsa(.sha512)
        case .edDSA: scheme = .ed25519
        case .hs256, .hs384, .hs512: return nil
        }
        self = .publicKey(key, scheme)
    }

    /// Creates a verifier for a secret. Nil for an algorithm with public keys.
    init?(_ secret: JWTSecret, _ algorithm: SignatureAlgorithm) {
        switch algorithm {
        case .hs256: self = .secret(HMACKey(secret.bytes, .sha256))
        case .hs384: self = .secret(HMACKey(secret.bytes, .sha384))
        case .hs512: self = .secret(HMACKey(secret.bytes, .sha512))
        default: return nil
        }
    }
}
