/// The scheme of a signature.
package enum SignatureScheme: Sendable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017 section 8.2).
    case rsaPKCS1(HashFunction)
    /// RSASSA-PSS with one hash, also in MGF1, and a salt of its size (RFC 8017 section 8.1, RFC 7518 section 3.5).
    case rsaPSS(HashFunction)
    /// ECDSA. The signature is R followed by S, each as long as the curve's field (RFC 7518 section 3.4).
    case ecdsa(HashFunction)
    /// Ed25519 (RFC 8032 section 5.1).
    case ed25519

    /// The hash; nil for a scheme with a fixed one.
    var hash: HashFunction? {
        switch self {
        case .rsaPKCS1(let hash), .rsaPSS(let hash), .ecdsa(let hash): hash
        case .ed25519: nil
        }
    }
}
