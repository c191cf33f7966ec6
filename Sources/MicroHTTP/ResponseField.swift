/// A field of a response's head. Whether it can be sent is found out when it is made, so that the fields which many
/// responses share are made, and looked at, once.
public struct ResponseField: Sendable {
    enum Standing {
        case sent
        /// Says how the message is framed, which only this layer knows.
        case ours
        /// The name is no token, or the value has a control character.
        case malformed
    }

    /// The name, in whatever case.
    public let name: String
    /// The value.
    public let value: String
    let standing: Standing

    /// A field from its parts.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
        let isWellFormed = Self.check(name, \.isToken) && Self.check(value, \.isFieldValue)
        standing = Self.isOurs(name) ? .ours : isWellFormed ? .sent : .malformed
    }

    private static func check(_ text: String, _ isGood: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        var text = text
        return text.withUTF8(isGood)
    }

    private static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4, 14, 17: ["date", "content-length", "transfer-encoding"].contains(name.lowercased())
        default: false
        }
    }
}
