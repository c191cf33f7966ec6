/// Why a value was not encoded: an author's mistake, so the text is made for a log.
public struct WireEncodingError: Error, Hashable, Sendable {
    /// Where in the document that was being written: a JSON Pointer (RFC 6901), empty for the whole.
    public let pointer: String
    /// What is wrong, for instance "a number must be finite".
    public let detail: String

    /// An error of its parts.
    public init(pointer: String, detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

extension WireEncodingError: CustomStringConvertible {
    /// What is wrong and where, in one line.
    public var description: String {
        pointer.isEmpty ? "cannot encode: \(detail)" : "cannot encode \(pointer): \(detail)"
    }
}
