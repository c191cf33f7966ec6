/// The error of a failed encoding. It is a mistake of an author, so the text is meant for logs.
@usableFromInline
package struct WireEncodingError: Error, Hashable, Sendable {
    /// The place in the unfinished document: a JSON Pointer (RFC 6901), empty for the whole document.
    package let pointer: String
    /// A description, for instance "a number must be finite".
    @usableFromInline package let detail: String

    /// Creates an error.
    package init(pointer: String, detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

extension WireEncodingError: CustomStringConvertible {
    /// A description of the error and its place, in one line.
    @usableFromInline
    package var description: String {
        pointer.isEmpty ? "cannot encode: \(detail)" : "cannot encode \(pointer): \(detail)"
    }
}

extension WireEncodingError {
    /// Returns the error inside an `EncodingError` of this module; nil for an author's error.
    init?(inside error: any Error) {
        guard let error = error as? EncodingError, let inner = error.context?.underlyingError as? WireEncodingError
        else { return nil }
        self = inner
    }

    /// The standard error, which authors can catch in `encode(to:)`.
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

/// The error of an enum that cannot be represented as flat JSON, detected by ``WireJSON/checkMapping(of:)`` at startup.
package struct WireMappingError: Error, Hashable, Sendable {
    /// The name of the case as its `type`; nil if the example has none.
    package let caseName: String?
    /// A description with advice.
    package let detail: String

    /// Creates an error.
    package init(caseName: String?, detail: String) {
        self.caseName = caseName
        self.detail = detail
    }
}

extension WireMappingError: CustomStringConvertible {
    /// The case and the description, in one line.
    package var description: String {
        caseName.map { "The case \"\($0)\" cannot be sent as JSON: \(detail)" } ?? "An example \(detail)"
    }
}
