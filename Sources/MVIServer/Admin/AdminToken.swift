import LibCrypto

/// The secret of an administrator. Only its hash is kept, and its description hides it.
public struct AdminToken: Sendable, Hashable, CustomStringConvertible {
    /// The minimal length; shorter tokens can be guessed.
    static let shortest = 16
    static let longest = 512

    private let hash: [UInt8]

    /// Creates a token of 16 to 512 characters that are valid in a bearer token (RFC 6750 section 2.1); nil for another
    /// text.
    public init?(_ text: String) {
        guard (Self.shortest...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy(Self.isOfToken) else {
            return nil
        }
        hash = SHA256.digest(Array(text.utf8))
    }

    /// `…`, without any part of the token.
    public var description: String { "…" }

    /// Returns true if a request's token equals this one. Compares whole hashes, so the time does not depend on the
    /// token.
    func matches(_ given: some Collection<UInt8>) -> Bool {
        let other = SHA256.digest(Array(given))
        return zip(hash, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}

extension SettingFormat where Value == AdminToken {
    /// A secret format: values are never printed.
    package static var adminToken: SettingFormat {
        SettingFormat(
            "16 to 512 letters, digits and -._~+/=, such as `openssl rand -base64 32` prints", isSecret: true,
            parse: { AdminToken($0) }, print: { _ in "" })
    }
}
