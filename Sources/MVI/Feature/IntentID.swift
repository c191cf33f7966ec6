import Locking

/// Names one accepted intent. Everything that it leads to carries it, launched work included.
public struct IntentID: Hashable, Sendable, CustomStringConvertible {
    /// The text clients see; their own idempotency key where they gave one.
    public let text: String

    /// An id with a text of the caller's.
    public init(_ text: String) { self.text = text }

    /// A new one: 64 bits in base 32, 13 characters. No two of a process are the same, and of two processes only by
    /// chance; it is a name, not a secret.
    public static func random() -> IntentID {
        // Asking the system for each would be a system call on every intent.
        IntentID(bits: generator.withLock { $0.next() })
    }

    /// The name of a number.
    package init(bits: UInt64) {
        let alphabet = Self.alphabet
        text = String(unsafeUninitializedCapacity: 13) { buffer in
            var rest = bits
            for index in 0..<13 {
                buffer[index] = alphabet[Int(rest & 31)]
                rest >>= 5
            }
            return 13
        }
    }

    private static let generator = Lock(SplitMix(state: .random(in: .min ... .max)))
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    /// The text.
    public var description: String { text }
}

extension IntentID {
    /// What bootstrap and its work go by. Not ASCII, so that no key that a client sends can be it.
    public static let bootstrap = IntentID("‹bootstrap›")
    @usableFromInline static let end = IntentID("end")

    /// Whether it is `bootstrap`. Its first byte is no other's: comparing texts of two forms takes ten times as long.
    package var isBootstrap: Bool {
        guard let first = text.utf8.first, first > 0x7F else { return false }
        return self == .bootstrap
    }
}

/// A permutation of the numbers of 64 bits, from a random start (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, 2014).
package struct SplitMix: Sendable {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
