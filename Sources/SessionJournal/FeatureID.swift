/// Names a feature instance on the wire: `counter`, or `order-detail:42` for a keyed feature.
///
/// The name is `[a-z][a-z0-9-]{0,47}`, the key `[A-Za-z0-9._~-]{1,64}`: neither can hold a byte that would end a line
/// of an event stream or need an escape in a path or in JSON.
package struct FeatureID: Hashable, Sendable, CustomStringConvertible {
    /// The whole of it, as clients write it.
    package let text: String
    /// How many bytes of it are the name.
    private let nameLength: Int

    /// Parses an id; nil if it is not one.
    package init?(_ bytes: ArraySlice<UInt8>) {
        let nameEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        guard Self.isName(bytes[..<nameEnd]), nameEnd == bytes.endIndex || Self.isKey(bytes[(nameEnd + 1)...])
        else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
        nameLength = nameEnd - bytes.startIndex
    }

    /// Parses an id; nil if it is not one.
    package init?(_ text: some StringProtocol) { self.init(ArraySlice(text.utf8)) }

    /// An id of parts that are known to be well formed; traps on others.
    package init(name: String, key: String?) {
        guard let id = FeatureID(key.map { "\(name):\($0)" } ?? name) else {
            preconditionFailure("'\(name)' with key '\(key ?? "")' is no feature id")
        }
        self = id
    }

    package var name: String { hasKey ? String(text.utf8.prefix(nameLength)) ?? text : text }

    /// Nil for a feature without one.
    package var key: String? { hasKey ? String(text.utf8.dropFirst(nameLength + 1)) : nil }

    package var hasKey: Bool { nameLength < text.utf8.count }

    package var description: String { text }

    /// Whether the bytes are a feature's name.
    package static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, bytes.count <= 48, isLowercase(first) else { return false }
        return bytes.allSatisfy { isLowercase($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// Whether the bytes are the key of a feature's instance.
    package static func isKey(_ bytes: some Collection<UInt8>) -> Bool {
        guard !bytes.isEmpty, bytes.count <= 64 else { return false }
        return bytes.allSatisfy { byte in
            // An ASCII letter with this bit is a small one.
            isLowercase(byte | 0x20) || isDigit(byte) || "._~-".utf8.contains(byte)
        }
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
