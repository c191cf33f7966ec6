/// What is wrong at a node; rides inside the standard `DecodingError`, so that an author who catches one sees what any
/// decoder throws. The place becomes a text only when the error is reported: an author may try and drop thousands.
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
