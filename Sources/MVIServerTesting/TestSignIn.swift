import MVI
import MVIServer
import WireJSON

/// Signs in a test's principals and forwards all other proofs to the server's own authenticator.
struct TestSignIn: Authenticator {
    private static let prefix = "test principal "
    let own: (any Authenticator)?

    /// Returns the identity of a principal's client.
    static func identity(of principal: Principal) throws -> String {
        prefix + String(decoding: try WireJSON.encode(principal), as: UTF8.self)
    }

    func authenticate(_ proof: IdentityProof) async throws -> Principal {
        if let identity = proof.identity, identity.hasPrefix(Self.prefix) {
            return try WireJSON.decode(Principal.self, from: Array(identity.dropFirst(Self.prefix.count).utf8))
        }
        guard let own else {
            throw AuthenticationError(
                .rejected,
                "The tested server has no authenticator: sign in with `client(as: Principal(…))`.")
        }
        return try await own.authenticate(proof)
    }

    var subjectField: String? { own?.subjectField }
    var issuers: [String] { own?.issuers ?? [] }
    func needsSubjectField(_ principal: Principal) -> Bool { false }
}
