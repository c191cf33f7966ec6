import LibCrypto

/// A secret that another program signs with what it sends, such as a payment provider its webhooks: HMAC-SHA-256 (RFC 2104).
/// Nothing that prints it shows its bytes.
///
/// ```swift
/// let secret = SigningSecret("whsec_…".utf8)
/// guard secret.isCode(code, for: request.body) else { throw Refusal(.forbidden, code: "bad-signature", "…") }
/// ```
public struct SigningSecret: Sendable {
    private let key: HMACKey

    /// A secret of its bytes.
    public init(_ bytes: some Sequence<UInt8>) { key = HMACKey(Array(bytes)) }

    /// The code of a message: 32 bytes.
    public func code(for message: [UInt8]) -> [UInt8] { key.code(for: message) }

    /// Returns true if a code is the message's. Takes the same time for each wrong code, so that its bytes cannot be guessed one by
    /// one.
    public func isCode(_ code: [UInt8], for message: [UInt8]) -> Bool { key.isCode(code, for: message) }
}
