import MVI

/// Finds out who a client is. A server has one at most; without one its sessions are anonymous.
///
/// Asked when a client signs in or renews its principal: never while an intent is on its way.
public protocol Authenticator: Sendable {
    /// The principal that the client has proven to be.
    ///
    /// Called from any thread, by as many requests at once as come; one that takes longer than 10 s is refused. Throws an
    /// `AuthenticationError`; anything else that it throws is logged, and the client is told to try again.
    func authenticate(_ proof: IdentityProof) async throws -> Principal

    /// The header field that names the subject on every request, set by a proxy that is trusted; nil for none. A request in
    /// which it names another subject than the session's is refused.
    var subjectField: String? { get }

    /// Returns true if requests of a principal's sessions are refused if they lack the `subjectField`. True by default: the field
    /// signed the principal in. An authenticator that also signs in by other proofs, such as JWTs for clients that come past
    /// the proxy, returns false for their principals and tells them apart by their issuer.
    func needsSubjectField(_ principal: Principal) -> Bool
}

extension Authenticator {
    /// None.
    public var subjectField: String? { nil }

    /// True.
    public func needsSubjectField(_ principal: Principal) -> Bool { true }
}

/// The proof of a client's identity.
public struct IdentityProof: Sendable {
    /// The `identity` of the request's body, such as a JWT; nil if it has none.
    public let identity: String?
    /// The request's header fields, as far as the sender may set them.
    private let fields: @Sendable (String) -> String?

    /// A proof of its parts. `field` hands over a header field's value by its name in lower case.
    public init(identity: String?, field: @escaping @Sendable (_ name: String) -> String? = { _ in nil }) {
        self.identity = identity
        fields = field
    }

    /// The value of a header field of the request; nil if it is missing, empty, there twice or not UTF-8, or if it was not set
    /// by a trusted proxy.
    public func field(_ name: String) -> String? { fields(name.lowercased()) }
}

/// The reason for which a client is not identified.
public struct AuthenticationError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public enum Code: Sendable, Equatable {
        /// The proof is missing, or not good (401).
        case rejected
        /// The proof was good once; its time is over (401).
        case expired
        /// It cannot be found out now, for instance since keys cannot be fetched (503).
        case unavailable
    }

    /// The kind of the error.
    public let code: Code
    /// A sentence for the client's author: it may not hold the proof itself.
    public let detail: String

    /// An error with a sentence about it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The sentence.
    public var description: String { detail }
}
