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
