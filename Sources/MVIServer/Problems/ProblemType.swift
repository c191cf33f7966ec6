import MVI
import Sessions

/// A kind of refusal, explained on its page `/problems/<name>`.
///
/// The names are part of the contract: a name never changes its meaning. To add a type, declare it in the file of its
/// area and add it to the list there; `openapi.yaml` lists the routes that answer it.
struct ProblemType: Sendable {
    /// The last part of the problem's `type`: `[a-z][a-z0-9-]*`.
    let name: String
    /// The status of every answer of this type.
    let status: Int
    /// The title, equal for all problems of the type (RFC 9457 section 3.1.3).
    let title: String
    /// The meaning, for readers of a client's log.
    let meaning: String
    /// A remedy for the client's author or its user.
    let remedy: String
    /// True if the problem reports a reached limit.
    var isLimit = false
    /// The errors of stores, sessions and journals that become this problem.
    var errors: [ErrorText] = []

    /// The text that clients get for some errors.
    struct ErrorText: Sendable {
        let codes: [StoreError.Code]
        /// A sentence about the feature instance; nil to use the error's own text, which was written for clients.
        let text: (@Sendable (FeatureID) -> String)?
        /// The time after which to try again, unless the error has one of its own.
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

    /// The problem's `type`, a relative reference that is valid at every address of the server.
    var reference: String { "/problems/\(name)" }
}

extension ProblemType: Hashable {
    static func == (left: ProblemType, right: ProblemType) -> Bool { left.name == right.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ProblemType {
    /// All types that clients see, by status.
    static let all = (ofRequests + ofIntents + ofLimits + ofNodes + ofAdmin).sorted { $0.status < $1.status }

    /// The index of each type in `all`.
    static let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1.name, $0) })

    private static let errors = Dictionary(
        uniqueKeysWithValues: all.flatMap { type in
            type.errors.flatMap { text in text.codes.map { ($0, (type: type, text: text)) } }
        })

    /// The type and text for an error; nil for a code of an adopter's own journal.
    static func of(_ code: StoreError.Code) -> (type: ProblemType, text: ErrorText)? { errors[code] }
}
