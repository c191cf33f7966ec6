/// Why bytes were not decoded. The texts are made for whoever sent the bytes: they hold no name of a Swift type.
public enum WireDecodingError: Error, Hashable, Sendable {
    /// The bytes are no JSON text of RFC 8259, hold a member twice, or nest too deep.
    ///
    /// `offset` counts bytes from 0; `reason` is a phrase such as "expected ',' or '}'".
    case malformed(offset: Int, reason: String)
    /// The bytes are JSON, but not of the form asked for.
    case mismatch([Issue])

    /// One place where a document differs from what was asked for.
    public struct Issue: Hashable, Sendable {
        /// Where: a JSON Pointer (RFC 6901), for instance `/amount`; empty for the whole document. A missing member
        /// is named as if it were there.
        public let pointer: String
        /// What was expected, for instance "expected an integer, found a string".
        public let detail: String
        /// The `type` that names no case, cut to 64 characters, when that is the trouble. Whoever knows the cases can
        /// list them.
        public let unknownType: String?

        /// An issue of its parts.
        public init(pointer: String, detail: String, unknownType: String? = nil) {
            self.pointer = pointer
            self.detail = detail
            self.unknownType = unknownType
        }
    }
}

extension WireDecodingError: CustomStringConvertible {
    /// What is wrong and where, in one line.
    public var description: String {
        switch self {
        case .malformed(let offset, let reason):
            "not valid JSON at byte \(offset): \(reason)"
        case .mismatch(let issues):
            issues.map { issue in
                issue.pointer.isEmpty ? issue.detail : "\(issue.pointer): \(issue.detail)"
            }.joined(separator: "; ")
        }
    }
}
