import Crypto
import SessionJournal

/// A session's secret: 256 random bits, as 43 characters of base64url. Shown to its client once; the server keeps the
/// hash only.
public struct SessionToken: Sendable, Equatable {
    /// The characters.
    public let text: String

    /// A token that a client sent; nil if it cannot be one.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Self.isDigit) else { return nil }
        self.text = String(text)
    }

    private init(random: [UInt8]) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var characters: [UInt8] = []
        for start in stride(from: 0, to: random.count, by: 3) {
            let group = random[start..<min(start + 3, random.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0...group.count { characters.append(alphabet[bits >> (18 - 6 * place) & 63]) }
        }
        text = String(decoding: characters, as: UTF8.self)
    }

    /// A new one, from the system's random source.
    public static func random() -> SessionToken {
        var generator = SystemRandomNumberGenerator()
        return SessionToken(random: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    var hash: TokenHash { TokenHash(Array(SHA256.hash(data: Array(text.utf8)))) }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
