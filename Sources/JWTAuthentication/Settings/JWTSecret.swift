/// A secret that the issuer and the server share. Its descriptions and its mirror never show the bytes.
public struct JWTSecret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The secret itself.
    public let bytes: [UInt8]

    /// The UTF-8 bytes of a text.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// A secret of its bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// `(hidden)`.
    public var description: String { "(hidden)" }
    /// `(hidden)`.
    public var debugDescription: String { description }
    /// Without members.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
