import FoundationEssentials
import JWTKit
import MVI
import MVIServer

/// NOT FOR PRODUCTION: lets anybody sign in as anybody, and pay without money. Off unless `--development` is given.
struct Development: Sendable {
    private struct Claims: JWTPayload {
        let iss, aud, sub: String
        let exp: ExpirationClaim
        let tier, role: String?
        func verify(using _: some JWTAlgorithm) {}
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
            let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
            let claims = Claims(
                iss: issuer, aud: audience, sub: person.subject,
                exp: ExpirationClaim(value: Date(timeIntervalSinceNow: person.seconds ?? 3_600)), tier: person.tier,
                role: person.role)
            return try .json(Token(jwt: await keys.sign(claims)))
        }
        Endpoint(.post, "/development/payment", summary: "NOT FOR PRODUCTION: pays without money.") {
            request, sessions in
            try await request.decode(Payment.self).perform(in: sessions)
            return .noContent
        }
    }
}
