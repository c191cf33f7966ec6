import MVI

/// Identifies clients by a header field that a trusted proxy sets on every request after it has signed the client in,
/// such as `X-Remote-User`. The proxy has to be one of `--trusted-proxy` and has to remove the field from clients'
/// requests.
public struct HeaderAuthenticator: Authenticator {
    /// The field's name.
    public let subjectField: String?
    private let issuer: String
    /// The issuer of the subjects, `proxy` unless another one was given.
    public var issuers: [String] { [issuer] }

    /// - Parameters:
    ///   - field: the header field that names the subject.
    ///   - issuer: the issuer of the subjects, which distinguishes them from those of another proxy.
    public init(field: String, issuer: String = "proxy") {
        subjectField = field.lowercased()
        self.issuer = issuer
    }

    public func authenticate(_ proof: IdentityProof) async throws -> Principal {
        guard let name = subjectField, let subject = proof.field(name) else {
            throw AuthenticationError(
                .rejected, "The field \"\(subjectField ?? "")\" of a trusted proxy is missing.")
        }
        return Principal(issuer: issuer, subject: subject)
    }
}
