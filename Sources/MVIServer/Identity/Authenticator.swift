import MVI

/// Identifies clients. A server has at most one authenticator; without one its sessions are anonymous.
///
/// The server calls it when a client signs in or renews its principal, never for an intent.
public protocol Authenticator: Sendable {
    /// Returns the principal that the client has proven to be.
    ///
    /// Called from any thread, for any number of requests at once. A call that takes longer than 10 s is refused.
    /// Throws an `AuthenticationError`; any other error is logged, and the client gets a 503.
    func authenticate(_ proof: IdentityProof) async throws -> Principal

    /// The header field in which a trusted proxy names the subject on every request; nil for none. Requests in which it
    /// names another subject than the session's are refused.
    var subjectField: String? { get }

    /// The issuers of its principals. Requests of administrators that name a subject without an issuer mean the only one.
    var issuers: [String] { get }

    /// Returns true if requests of a principal's sessions are refused without the `subjectField`. True by default: the
    /// field signed the principal in. An authenticator that also accepts other proofs, such as JWTs from clients that
    /// bypass the proxy, returns false for their principals and distinguishes them by their issuer.
    func needsSubjectField(_ principal: Principal) -> Bool
}

extension Authenticator {
    /// None.
    public var subjectField: String? { nil }

    /// None: administrators name the issuer of each subject.
    public var issuers: [String] { [] }

    /// True.
    public func needsSubjectField(_ principal: Principal) -> Bool { true }
}

/// A client's proof of its identity.
public struct IdentityProof: Sendable {
    /// The `identity` of the request's body, such as a JWT; nil if it has none.
    public let identity: String?
    /// The request's header fields that the sender may set.
    private let fields: @Sendable (String) -> String?

    /// Creates a proof. `field` returns a header field's value by its name in lower case.
    public init(identity: String?, field: @escaping @Sendable (_ name: String) -> String? = { _ in nil }) {
        self.identity = identity
        fields = field
    }

    /// The value of a header field of the request; nil if it is missing, empty, repeated or not UTF-8, or if a trusted
    /// proxy did not set it.
    public func field(_ name: String) -> String? { fields(name.lowercased()) }
}

/// An error that an authenticator throws.
public struct AuthenticationError: Error, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Equatable {
        /// The proof is missing or not valid (401).
        case rejected
        /// The proof has expired (401).
        case expired
        /// The proof cannot be checked now, for example because keys cannot be fetched (503).
        case unavailable
    }

    /// The kind of the error.
    public let code: Code
    /// A sentence for the client's author. It must not contain the proof.
    public let detail: String

    /// Creates an error with a sentence about it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The sentence.
    public var description: String { detail }
}
