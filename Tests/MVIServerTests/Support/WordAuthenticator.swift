import MVI
import MVIServer
import MVITesting
import Sessions

/// Accepts the client's own words: `anna premium 600` is the subject, the tier and the seconds from the test's
/// beginning until the expiry; the last two are optional. `bad` is rejected, `down` cannot be checked, `silent` never
/// returns, and the tier `odd` makes a claim that cannot be stored.
struct WordAuthenticator: Authenticator {
    static let issuer = "tests"
    var subjectField: String?

    func authenticate(_ proof: IdentityProof) async throws -> Principal {
        guard let text = proof.identity ?? subjectField.flatMap({ proof.field($0) }) else {
            throw AuthenticationError(.rejected, "There is no `identity`.")
        }
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case nil, "bad": throw AuthenticationError(.rejected, "The identity is not good.")
        case "down": throw AuthenticationError(.unavailable, "The identity cannot be checked now.")
        case "silent":
            try await Gate().wait()
            throw CancellationError()
        case let subject?:
            let tier: ClaimValue = words.count > 1 ? (words[1] == "odd" ? .number(.nan) : .string(words[1])) : "basic"
            let seconds = words.count > 2 ? Int(words[2]) : nil
            return Principal(
                issuer: Self.issuer, subject: subject, claims: ["tier": tier],
                expiry: seconds.map { Timestamp(sinceEpoch: ManualTime.beginning + .seconds($0)) })
        }
    }
}

extension TestServer {
    /// Makes a session with an identity.
    func session(of identity: String, shared: Bool = false) async throws -> Credential {
        let response = try await send(
            TestRequest(
                "POST", "/sessions", [RefusalCase.json], body: #"{"identity":"\#(identity)","shared":\#(shared)}"#))
        guard response.status == 201 else { throw NotMade(answer: "\(response.status) \(response.text)") }
        struct Made: Decodable {
            var id: String
            var token: String
        }
        let made = try response.json(Made.self)
        return Credential(id: made.id, field: ("Authorization", "Bearer \(made.token)"), secret: made.token)
    }

    /// The answer if no session was made.
    struct NotMade: Error { let answer: String }

    /// Makes an anonymous session, also if clients cannot make one any more.
    func anonymousSession() async throws -> Credential {
        let made = try await withCheckedContinuation { continuation in
            sessions.create(.bearer) { continuation.resume(returning: $0) }
        }.get()
        return Credential(id: made.id, field: ("Authorization", "Bearer \(made.token.text)"), secret: made.token.text)
    }

    /// Signs in, or renews the identity.
    func signIn(_ session: Credential, _ identity: String) async throws -> TestResponse {
        try await send(session.identity(identity))
    }
}

extension Credential {
    /// The request that signs in.
    func identity(_ identity: String) -> TestRequest {
        request("PUT", "/sessions/current/identity", [RefusalCase.json], body: #"{"identity":"\#(identity)"}"#)
    }
}
