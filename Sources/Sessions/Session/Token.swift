import LibCrypto
import SessionJournal

/// A session's secret as its client sends it: 43 characters of base64url with 256 random bits, and 30 that prove that
/// this server issued it, see `SessionSeal`. The locale and the time zone of the client may follow, which are proven too.
/// Its client gets it once; the server stores only a hash of the random bits.
///
/// Tokens of older versions have no proof: they name sessions in the journal.
package struct SessionToken: Sendable, Equatable {
    private static let randomLength = 43
    private static let proofLength = 30
    /// Base64url of two values of 64 bytes and a space.
    private static let settingsLength = 172

    private let characters: ArraySlice<UInt8>
    /// The hash of the random bits, which identifies the session.
    let hash: TokenHash

    /// A client's token; nil if it cannot be one. Shares the storage of `characters` and copies nothing.
    package init?(_ characters: ArraySlice<UInt8>) {
        switch characters.count {
        case Self.randomLength: break
        case Self.randomLength + Self.proofLength...Self.randomLength + Self.proofLength + Self.settingsLength: break
        default: return nil
        }
        for character in characters where Base64URL.value(of: character) == nil { return nil }
        self.characters = characters
        hash = Self.hash(characters.prefix(Self.randomLength))
    }

    /// A client's token; nil if it cannot be one.
    package init?(_ text: some StringProtocol) { self.init(ArraySlice(text.utf8)) }

    /// Creates a token from the system's random source. `prove` returns the 22 bytes of proof for its hash.
    init(settings: [UInt8], prove: (TokenHash) -> [UInt8]) {
        var generator = SystemRandomNumberGenerator()
        let random = Base64URL.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        hash = Self.hash(random[...])
        characters = (random + Base64URL.text(prove(hash)) + Base64URL.text(settings))[...]
    }

    /// Creates a token without a proof, for a session that is stored at once.
    static func random() -> SessionToken {
        var generator = SystemRandomNumberGenerator()
        return SessionToken(random: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// A token with 32 bytes that nobody can guess.
    init(random: [UInt8]) {
        characters = Base64URL.text(random)[...]
        hash = Self.hash(characters)
    }

    /// The same token with storage of its own, to be kept for longer than a request.
    package var kept: SessionToken { SessionToken(characters: Array(characters)[...], hash: hash) }

    private init(characters: ArraySlice<UInt8>, hash: TokenHash) { (self.characters, self.hash) = (characters, hash) }

    /// Returns true if `text` is the token's. The time depends on the lengths alone: a proxy's connection carries the
    /// requests of several clients.
    package func isWritten(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count == characters.count else { return false }
        return characters.withUnsafeBytes { own in
            text.withUnsafeBytes { text in
                var difference: UInt8 = 0
                for place in text.indices { difference |= own[place] ^ text[place] }
                return difference == 0
            }
        }
    }

    package var text: String { String(decoding: characters, as: UTF8.self) }

    /// The characters of the random bits.
    var random: ArraySlice<UInt8> { characters.prefix(Self.randomLength) }

    /// The 22 bytes of the proof; nil if there is none.
    var proof: [UInt8]? {
        let proof = characters.dropFirst(Self.randomLength).prefix(Self.proofLength)
        return proof.isEmpty ? nil : Base64URL.bytes(proof)
    }

    /// The bytes after the proof; see `ClientSettings.text`.
    var settings: [UInt8] { Base64URL.bytes(characters.dropFirst(Self.randomLength + Self.proofLength)) }

    private static func hash(_ characters: ArraySlice<UInt8>) -> TokenHash {
        var hash = SHA256()
        hash.update(characters)
        let words = hash.words()
        return TokenHash(words.0, words.1, words.2, words.3)
    }
}

/// RFC 4648 section 5, without padding.
private enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> [UInt8] {
        var characters: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0...group.count { characters.append(alphabet[bits >> (18 - 6 * place) & 63]) }
        }
        return characters
    }

    /// The bytes of a text in the alphabet. Remaining bits are ignored.
    static func bytes(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var (bytes, bits, count): ([UInt8], Int, Int) = ([], 0, 0)
        for character in text {
            bits = (bits << 6 | Int(value(of: character) ?? 0)) & 0xFFFF
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return bytes
    }

    static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
