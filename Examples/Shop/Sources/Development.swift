import FoundationEssentials
import MVI
import MVIServer

/// NOT FOR PRODUCTION: anybody can sign in as anybody, and pay without money. Enabled by `--development` only.
struct Development: Sendable {
    private struct Claims: Encodable {
        let iss, aud, sub: String
        /// Seconds since 1970, possibly with a fraction (RFC 7519 section 2).
        let exp: Double
        let tier, role: String?
    }
    private struct Person: Decodable {
        let subject: String
        let tier, role: String?
        let seconds: Double?
    }
    private struct Token: Encodable { let jwt: String }

    let issuer: String
    let audience: String
    let secret: [UInt8]

    @FeatureBuilder var content: ServerContent {
        Endpoint(.post, "/development/jwt", summary: "NOT FOR PRODUCTION: a JWT for anybody.") { request, _ in
            let person = try request.decode(Person.self)
            let claims = Claims(
                iss: issuer, aud: audience, sub: person.subject,
                exp: Date(timeIntervalSinceNow: person.seconds ?? 3_600).timeIntervalSince1970, tier: person.tier,
                role: person.role)
            return try .json(Token(jwt: jwt(JSONEncoder().encode(claims))))
        }
        Endpoint(.post, "/development/payment", summary: "NOT FOR PRODUCTION: pays without money.") {
            request, sessions in
            try await request.decode(Payment.self).perform(in: sessions)
            return .noContent
        }
    }

    /// Returns a token with those claims, signed with HS256 (RFC 7515 section 3.1).
    private func jwt(_ claims: Data) -> String {
        let signed = "\(Self.base64URL(Data(#"{"alg":"HS256"}"#.utf8))).\(Self.base64URL(claims))"
        return "\(signed).\(Self.base64URL(Data(SigningSecret(secret).code(for: Array(signed.utf8)))))"
    }

    private static func base64URL(_ data: Data) -> String {
        String(data.base64EncodedString().compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }
}
