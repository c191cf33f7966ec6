import LibCrypto

/// A secret for the signatures of another program, such as a payment provider's webhooks: HMAC-SHA-256 (RFC 2104). Its
/// bytes are never printed.
///
/// ```swift
/// let secret = SigningSecret("whsec_…".utf8)
/// guard secret.isCode(code, for: request.body) else { throw Refusal(.forbidden, code: "bad-signature", "…") }
/// ```
public struct SigningSecret: Sendable {
    private let key: HMACKey

    /// Creates a secret from its bytes.
    public init(_ bytes: some Sequence<UInt8>) { key = HMACKey(Array(bytes)) }

    /// Returns the code of a message: 32 bytes.
    public func code(for message: [UInt8]) -> [UInt8] { key.code(for: message) }

    /// Returns true if a code belongs to a message. The time is the same for each wrong code, so that it cannot be
    /// guessed byte by byte.
    public func isCode(_ code: [UInt8], for message: [UInt8]) -> Bool { key.isCode(code, for: message) }
}
