import Crypto
import SessionJournal

/// A session's secret: 256 random bits, as 43 characters of base64url. Shown to its client once; the server keeps the
/// hash only.
package struct SessionToken: Sendable, Equatable {
    private let characters: ArraySlice<UInt8>

    /// A token that a client sent; nil if it cannot be one. Keeps the storage of `characters`, and copies nothing.
    package init?(_ characters: ArraySlice<UInt8>) {
        guard characters.count == 43 else { return nil }
        for character in characters where !Self.isDigit(character) { return nil }
        self.characters = characters
    }

    /// A token that a client sent; nil if it cannot be one.
    package init?(_ text: some StringProtocol) { self.init(ArraySlice(text.utf8)) }

    private init(random: [UInt8]) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var characters: [UInt8] = []
        for start in stride(from: 0, to: random.count, by: 3) {
            let group = random[start..<min(start + 3, random.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0...group.count { characters.append(alphabet[bits >> (18 - 6 * place) & 63]) }
        }
        self.characters = characters[...]
    }

    /// A new one, from the system's random source.
    package static func random() -> SessionToken {
        var generator = SystemRandomNumberGenerator()
        return SessionToken(random: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// The characters.
    package var text: String { String(decoding: characters, as: UTF8.self) }

    var hash: TokenHash {
        var hasher = SHA256()
        hasher.update(data: characters)
        return hasher.finalize().withUnsafeBytes { bytes in
            func word(_ start: Int) -> UInt64 {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            }
            return TokenHash(word(0), word(8), word(16), word(24))
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
