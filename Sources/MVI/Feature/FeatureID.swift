/// The id of a feature instance in the API: `counter`, or `order-detail:42` for a keyed feature.
///
/// The name is `[a-z][a-z0-9-]{0,47}`, the key `[A-Za-z0-9._~-]{1,64}`. Neither can contain a byte that ends a line of
/// an event stream or needs escaping in a path or in JSON.
@usableFromInline package struct FeatureID: Hashable, Sendable, CustomStringConvertible {
    /// The whole id as clients write it.
    package let text: String
    /// The number of bytes in the name.
    private let nameLength: Int

    /// Parses an id. Returns nil if it is malformed.
    package init?(_ bytes: ArraySlice<UInt8>) {
        let nameEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        guard Self.isName(bytes[..<nameEnd]), nameEnd == bytes.endIndex || Self.isKey(bytes[(nameEnd + 1)...])
        else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
        nameLength = nameEnd - bytes.startIndex
    }

    /// Parses an id. Returns nil if it is malformed.
    package init?(_ text: some StringProtocol) { self.init(ArraySlice(text.utf8)) }

    /// Creates an id from valid parts. Traps on invalid ones.
    package init(name: String, key: String?) {
        guard let id = FeatureID(key.map { "\(name):\($0)" } ?? name) else {
            preconditionFailure("'\(name)' with key '\(key ?? "")' is not a feature id")
        }
        self = id
    }

    package var name: String { hasKey ? String(text.utf8.prefix(nameLength)) ?? text : text }

    /// The key, or nil for a feature without one.
    package var key: String? { hasKey ? String(text.utf8.dropFirst(nameLength + 1)) : nil }

    package var hasKey: Bool { nameLength < text.utf8.count }

    @usableFromInline package var description: String { text }

    /// True if the bytes are a valid feature name.
    package static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, bytes.count <= 48, isLowercase(first) else { return false }
        return bytes.allSatisfy { isLowercase($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// True if the bytes are a valid key.
    package static func isKey(_ bytes: some Collection<UInt8>) -> Bool {
        guard !bytes.isEmpty, bytes.count <= 64 else { return false }
        return bytes.allSatisfy { byte in
            // This bit makes an ASCII letter lowercase.
            isLowercase(byte | 0x20) || isDigit(byte) || "._~-".utf8.contains(byte)
        }
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
