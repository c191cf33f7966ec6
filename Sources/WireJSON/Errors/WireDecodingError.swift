/// The reason for which bytes were not decoded. The texts are for the sender of the bytes: they contain no name of a
/// Swift type.
@usableFromInline
package enum WireDecodingError: Error, Hashable, Sendable {
    /// The bytes are no JSON text of RFC 8259, hold a member twice, or nest too deep.
    ///
    /// `offset` counts bytes from 0; `reason` is a phrase such as "expected ',' or '}'".
    case malformed(offset: Int, reason: String)
    /// The bytes are JSON, but not of the form asked for.
    case mismatch([Issue])

    /// One place where a document differs from what was asked for.
    @usableFromInline
    package struct Issue: Hashable, Sendable {
        /// The place: a JSON Pointer (RFC 6901), for instance `/amount`; empty for the whole document. A missing
        /// member is named as if it existed.
        package let pointer: String
        /// The expectation, for instance "expected an integer, found a string".
        package let detail: String
        /// The `type` that names no case, cut to 64 characters, when that is the trouble. A caller who knows the cases can
        /// list them.
        package let unknownType: String?

        /// An issue of its parts.
        package init(pointer: String, detail: String, unknownType: String? = nil) {
            self.pointer = pointer
            self.detail = detail
            self.unknownType = unknownType
        }
    }
}

extension WireDecodingError: CustomStringConvertible {
    /// The fault and its place in one line.
    @usableFromInline
    package var description: String {
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

/// The fault at a node, inside the standard `DecodingError`, so that an author who catches one sees the error of any
/// decoder. The place becomes a text only when the error is reported: an author may try and drop thousands.
struct Mismatch: Error {
    let node: Int
    /// A member that the node lacks or has wrong.
    var member: String?
    let detail: String
    var unknownType: String?

    init(node: Int, member: String? = nil, detail: String, unknownType: String? = nil) {
        self.node = node
        self.member = member
        self.detail = detail
        self.unknownType = unknownType
    }

    /// The mismatch inside an error of ours; nil for an author's error.
    init?(_ error: any Error) {
        guard let error = error as? DecodingError, let mismatch = error.context?.underlyingError as? Mismatch else {
            return nil
        }
        self = mismatch
    }

    var context: DecodingError.Context {
        .init(codingPath: [], debugDescription: detail, underlyingError: self)
    }

    var corrupted: DecodingError { .dataCorrupted(context) }
}

extension DecodingError {
    var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }
}

/// A step of a path into a document, for `codingPath` and for JSON Pointers.
enum PathKey: CodingKey {
    case member(String)
    case index(Int)

    init(stringValue: String) { self = .member(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .member(let name): name
        case .index(let index): String(index)
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }

    /// The JSON Pointer of a path (RFC 6901 sections 3 and 4).
    static func pointer(_ path: [any CodingKey]) -> String {
        path.map { "/" + escaped($0.intValue.map { String($0) } ?? $0.stringValue) }.joined()
    }

    /// `~` and `/` as `~0` and `~1`.
    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        var text = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
