/// The SHA-256 of a session's token: 32 bytes. Look-ups by hash reveal nothing about tokens to a timing attack.
package struct TokenHash: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// A hash from its 32 bytes. Traps on any other length.
    package init(_ bytes: [UInt8]) {
        precondition(bytes.count == 32, "a SHA-256 has 32 bytes")
        func word(_ start: Int) -> UInt64 {
            var word: UInt64 = 0
            for index in start..<(start + 8) { word = word << 8 | UInt64(bytes[index]) }
            return word
        }
        words = (word(0), word(8), word(16), word(24))
    }

    /// A hash from its 32 bytes as four numbers, the most significant byte first.
    package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        words = (first, second, third, fourth)
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
        }
    }

    /// The shard of a table for this hash.
    package var shard: Int { Int(truncatingIfNeeded: words.3 & 0xffff) }

    package static func == (left: TokenHash, right: TokenHash) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}
