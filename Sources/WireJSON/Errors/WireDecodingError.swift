/// The error of a failed decoding. The texts are meant for the sender of the bytes and contain no names of Swift types.
@usableFromInline
package enum WireDecodingError: Error, Hashable, Sendable {
    /// The bytes are not JSON (RFC 8259), contain a duplicate member, or are nested too deeply.
    ///
    /// `offset` counts bytes from 0; `reason` is a phrase such as "expected ',' or '}'".
    case malformed(offset: Int, reason: String)
    /// The bytes are JSON, but do not have the requested form.
    case mismatch([Issue])

    /// A place where a document differs from the requested form.
    @usableFromInline
    package struct Issue: Hashable, Sendable {
        /// A JSON Pointer (RFC 6901), for instance `/amount`; empty for the whole document. A missing member is named
        /// as if it were present.
        package let pointer: String
        /// A description, for instance "expected an integer, found a string".
        package let detail: String
        /// The `type` if it names no case, cut to 64 characters. A caller that knows the cases can list them.
        package let unknownType: String?

        /// Creates an issue.
        package init(pointer: String, detail: String, unknownType: String? = nil) {
            self.pointer = pointer
            self.detail = detail
            self.unknownType = unknownType
        }
    }
}

extension WireDecodingError: CustomStringConvertible {
    /// A description of the error and its place, in one line.
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

/// A mismatch at a node. It is wrapped in a `DecodingError`, so that authors can catch it as with any decoder. The path
/// is computed only when the error is reported, since an author may catch and drop thousands.
struct Mismatch: Error {
    let node: Int
    /// The member that is missing or invalid.
    var member: String?
    let detail: String
    var unknownType: String?

    init(node: Int, member: String? = nil, detail: String, unknownType: String? = nil) {
        self.node = node
        self.member = member
        self.detail = detail
        self.unknownType = unknownType
    }

    /// Returns the mismatch inside an error of this module; nil for an author's error.
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

/// A step of a path into a document, for `codingPath` and JSON Pointers.
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

    /// Returns the JSON Pointer of a path (RFC 6901 sections 3 and 4).
    static func pointer(_ path: [any CodingKey]) -> String {
        path.map { "/" + escaped($0.intValue.map { String($0) } ?? $0.stringValue) }.joined()
    }

    /// Replaces `~` and `/` with `~0` and `~1`.
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
