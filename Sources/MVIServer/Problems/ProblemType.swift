import MVI
import Sessions

/// A kind of refusal, as its page `/problems/<name>` explains it.
///
/// The names are part of the contract: a client switches over them, so one that is served is never given another
/// meaning. Another one is a declaration in the file of its area and a name in the list above it; `openapi.yaml` says which
/// routes answer it.
struct ProblemType: Sendable {
    /// The last part of the problem's `type`: `[a-z][a-z0-9-]*`.
    let name: String
    /// The status of every answer of this type.
    let status: Int
    /// The same for every problem of the type (RFC 9457 section 3.1.3).
    let title: String
    /// The meaning, for a reader of a client's log.
    let meaning: String
    /// The remedy for the client's author or user.
    let remedy: String
    /// True if it says that there is no room for more.
    var isLimit = false
    /// The errors of a store, a session or a journal that it is the answer to.
    var errors: [ErrorText] = []

    /// The text for clients of some errors.
    struct ErrorText: Sendable {
        let codes: [StoreError.Code]
        /// A sentence about the feature instance; nil for the error's own, which was written for clients.
        let text: (@Sendable (FeatureID) -> String)?
        /// After how long to try again, unless the error knows better.
        let retryAfter: Duration?

        init(_ codes: StoreError.Code..., text: String, retryAfter: Duration? = nil) {
            (self.codes, self.text, self.retryAfter) = (codes, { _ in text }, retryAfter)
        }

        init(
            _ codes: StoreError.Code..., retryAfter: Duration? = nil, text: (@Sendable (FeatureID) -> String)? = nil
        ) {
            (self.codes, self.text, self.retryAfter) = (codes, text, retryAfter)
        }
    }

    init(
        _ name: String, _ status: Int, _ title: String, meaning: String, remedy: String, isLimit: Bool = false,
        errors: [ErrorText] = []
    ) {
        (self.name, self.status, self.title) = (name, status, title)
        (self.meaning, self.remedy, self.isLimit, self.errors) = (meaning, remedy, isLimit, errors)
    }

    /// The problem's `type`, a relative reference: it holds on whatever address the server is reached.
    var reference: String { "/problems/\(name)" }
}

extension ProblemType: Hashable {
    static func == (left: ProblemType, right: ProblemType) -> Bool { left.name == right.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ProblemType {
    /// Every type that clients see, by status.
    static let all = (ofRequests + ofIntents + ofLimits + ofNodes + ofAdmin).sorted { $0.status < $1.status }

    /// The place of each in `all`.
    static let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1.name, $0) })

    private static let errors = Dictionary(
        uniqueKeysWithValues: all.flatMap { type in
            type.errors.flatMap { text in text.codes.map { ($0, (type: type, text: text)) } }
        })

    /// The problem that a client is told of an error; nil for a code of an adopter's own journal.
    static func of(_ code: StoreError.Code) -> (type: ProblemType, text: ErrorText)? { errors[code] }
}
