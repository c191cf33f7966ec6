import Foundation
import JWTKit
import Testing

/// Compares the verdicts of `JWTAuthenticationTests`, in the file of `MVI_JWT_CASES`, with jwt-kit's.
@Suite("Tokens of the tests")
struct TokenTests {
    private struct Case: Decodable {
        let keys: String?
        let secret: [UInt8]?
        let token: String
        let isAccepted: Bool
        let detail: String?
    }

    /// Our refusals that jwt-kit accepts, by a part of the detail, with the reason. Each occurs.
    private static let stricter = [
        "'kid' names no key": "jwt-kit takes its first key",
        "not exactly one key fits": "jwt-kit takes its first key",
        "does not accept the JWT's algorithm": "the algorithms are the server's choice (RFC 8725 section 3.1)",
        "was there before": "a member that is there twice has two readings (RFC 8725 section 2.4)",
        "equivalent names in Unicode": "a member that is there twice has two readings (RFC 8725 section 2.4)",
        "not base64url": "a token has one spelling",
        "not a JSON object": "claims are an object (RFC 7519 section 7.2); AnyPayload is made of any JSON",
        "longer than": "a bound",
        "'iss'": "jwt-kit leaves the issuer to its caller",
        "'aud'": "jwt-kit leaves the audience to its caller",
        "'sub'": "jwt-kit leaves the subject to its caller",
        "'iat'": "jwt-kit leaves the time of issue to its caller",
        "'exp'": "jwt-kit leaves a token's end to its caller",
        "has expired": "jwt-kit leaves a token's end to its caller",
        "'nbf'": "jwt-kit leaves a token's begin to its caller",
    ]

    /// The property of our accepted tokens that jwt-kit refuses, with the reason. It occurs.
    private static let wider = "without a 'kid' the one key that fits is taken, where jwt-kit takes its first key"

    /// Any object: claims are not compared.
    private struct AnyPayload: JWTPayload {
        func verify(using _: some JWTAlgorithm) {}
    }

    private func isAccepted(_ one: Case) async -> Bool {
        let collection = JWTKeyCollection()
        if let secret = one.secret {
            let algorithm = Self.member("alg", of: one.token)
            let digests: [String: DigestAlgorithm] = ["HS256": .sha256, "HS384": .sha384, "HS512": .sha512]
            guard let digest = algorithm.flatMap({ digests[$0] }) else { return false }
            await collection.add(hmac: HMACKey(from: secret), digestAlgorithm: digest)
        }
        for key in one.keys.map(Self.keys) ?? [] { _ = try? await collection.add(jwk: key) }
        return (try? await collection.verify(one.token, as: AnyPayload.self)) != nil
    }

    /// Returns the keys for jwt-kit; it accepts none without a `kid`, so such a key gets one.
    private static func keys(_ text: String) -> [JWK] {
        let set = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
        return (set?["keys"] as? [[String: Any]] ?? []).enumerated().compactMap { place, members in
            let members = members.merging(["kid": "key \(place)"]) { own, _ in own }
            return (try? JSONSerialization.data(withJSONObject: members))
                .flatMap { try? JSONDecoder().decode(JWK.self, from: $0) }
        }
    }

    /// A member of a token's header.
    private static func member(_ name: String, of token: String) -> String? {
        let text = String(token.prefix { $0 != "." }.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let data = Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))
        return (data.flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: Any])?[name] as? String
    }

    @Test func `jwt-kit accepts the same tokens, with listed exceptions`() async throws {
        let path = try #require(
            ProcessInfo.processInfo.environment["MVI_JWT_CASES"],
            "MVI_JWT_CASES names no file: script/test --oracle makes it")
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        var (accepted, refused, used) = (0, 0, Set<String>())
        for line in text.split(separator: "\n") {
            let one = try JSONDecoder().decode(Case.self, from: Data(line.utf8))
            let theirs = await isAccepted(one)
            if one.isAccepted { accepted += 1 } else { refused += 1 }
            if theirs, !one.isAccepted,
                let part = Self.stricter.keys.first(where: { one.detail?.contains($0) ?? false })
            {
                used.insert(part)
                continue
            }
            if !theirs, one.isAccepted, one.secret == nil, Self.member("kid", of: one.token) == nil {
                used.insert(Self.wider)
                continue
            }
            #expect(theirs == one.isAccepted, "\(line)")
        }
        #expect(accepted > 50 && refused > 50, "\(accepted) accepted, \(refused) refused")
        let unused = Set(Self.stricter.keys).union([Self.wider]).subtracting(used)
        #expect(unused.isEmpty, "no token differs by these any more")
    }
}
