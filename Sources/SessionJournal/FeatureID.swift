/// Names a feature instance on the wire: `counter`, or `order-detail:42` for a keyed feature.
///
/// The name is `[a-z][a-z0-9-]{0,47}`, the key `[A-Za-z0-9._~-]{1,64}`: neither can hold a byte that would end a line
/// of an event stream or need an escape in a path or in JSON.
public struct FeatureID: Hashable, Sendable, CustomStringConvertible {
    /// The whole of it, as clients write it.
    public let text: String
    /// How many bytes of it are the name.
    private let nameLength: Int

    /// Parses an id; nil if it is not one.
    public init?(_ bytes: ArraySlice<UInt8>) {
        let nameEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        guard Self.isName(bytes[..<nameEnd]) else { return nil }
        if nameEnd < bytes.endIndex {
            guard Self.isKey(bytes[(nameEnd + 1)...]) else { return nil }
        }
        text = String(decoding: bytes, as: UTF8.self)
        nameLength = nameEnd - bytes.startIndex
    }

    /// Parses an id; nil if it is not one.
    public init?(_ text: some StringProtocol) { self.init(ArraySlice(text.utf8)) }

    /// An id of parts that are known to be well formed; traps on others.
    public init(name: String, key: String?) {
        guard let id = FeatureID(key.map { "\(name):\($0)" } ?? name) else {
            preconditionFailure("'\(name)' with key '\(key ?? "")' is no feature id")
        }
        self = id
    }

    /// The feature's name.
    public var name: String { hasKey ? String(text.utf8.prefix(nameLength)) ?? text : text }

    /// The key, nil for a feature without one.
    public var key: String? { hasKey ? String(text.utf8.dropFirst(nameLength + 1)) : nil }

    /// Whether there is a key.
    public var hasKey: Bool { nameLength < text.utf8.count }

    public var description: String { text }

    /// Whether the bytes are a feature's name.
    public static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, bytes.count <= 48, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
        else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
    }

    /// Whether the bytes are a key.
    public static func isKey(_ bytes: some Collection<UInt8>) -> Bool {
        guard !bytes.isEmpty, bytes.count <= 64 else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}
