/// The reason for which a value was not encoded: an author's mistake, so the text is for a log.
@usableFromInline
package struct WireEncodingError: Error, Hashable, Sendable {
    /// The place in the written document: a JSON Pointer (RFC 6901), empty for the whole.
    package let pointer: String
    /// The fault, for instance "a number must be finite".
    package let detail: String

    /// An error of its parts.
    package init(pointer: String, detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

extension WireEncodingError: CustomStringConvertible {
    /// The fault and its place in one line.
    @usableFromInline
    package var description: String {
        pointer.isEmpty ? "cannot encode: \(detail)" : "cannot encode \(pointer): \(detail)"
    }
}

extension WireEncodingError {
    /// The error inside an `EncodingError` of ours; nil for an author's error.
    init?(inside error: any Error) {
        guard let error = error as? EncodingError, let inner = error.context?.underlyingError as? WireEncodingError
        else { return nil }
        self = inner
    }

    /// As the standard error, for authors who catch it in `encode(to:)`.
    var thrown: EncodingError {
        .invalidValue(pointer, .init(codingPath: [], debugDescription: detail, underlyingError: self))
    }
}

extension EncodingError {
    var context: Context? {
        switch self {
        case .invalidValue(_, let context): context
        @unknown default: nil
        }
    }
}

/// The reason for which an enum has no flat JSON; found by ``WireJSON/checkMapping(of:)`` at start.
package struct WireMappingError: Error, Hashable, Sendable {
    /// The case, as its `type` would be; nil when the example did not even give one.
    package let caseName: String?
    /// The fault and its remedy.
    package let detail: String

    /// An error of its parts.
    package init(caseName: String?, detail: String) {
        self.caseName = caseName
        self.detail = detail
    }
}

extension WireMappingError: CustomStringConvertible {
    /// The case and what is wrong with it, in one line.
    package var description: String {
        caseName.map { "The case \"\($0)\" cannot be sent as JSON: \(detail)" } ?? "An example \(detail)"
    }
}
