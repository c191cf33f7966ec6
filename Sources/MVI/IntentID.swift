/// Names one accepted intent. Everything that it leads to carries it, launched work included.
public struct IntentID: Hashable, Sendable, CustomStringConvertible {
    /// The text clients see; their own idempotency key where they gave one.
    public let text: String

    /// An id with a text of the caller's.
    public init(_ text: String) { self.text = text }

    /// A new random one: 64 bits in base 32, 13 characters.
    public static func random() -> IntentID {
        var bits = UInt64.random(in: .min ... .max)
        let alphabet = Self.alphabet
        return IntentID(
            String(unsafeUninitializedCapacity: 13) { buffer in
                for index in 0..<13 {
                    buffer[index] = alphabet[Int(bits & 31)]
                    bits >>= 5
                }
                return 13
            })
    }

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    /// The text.
    public var description: String { text }
}
