import MVI
import MVIServer
import Testing

@testable import JWTAuthentication

@Suite("JWTs")
struct TokenTests {
    @Test("a valid token signs its subject in, with all claims, until its expiry plus the leeway")
    func principal() async throws {
        let issuer = TestIssuer(key: try .p256())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let payload = TestIssuer.payload([
            "tier": "\"premium\"", "roles": "[\"admin\",\"editor\"]", "age": "42", "rate": "0.5", "ok": "true",
            "address": "{\"city\":\"Rome\"}", "none": "null", "aud": "[\"other\",\"shop\"]",
        ])
        let principal = try await authenticator.authenticate(IdentityProof(identity: issuer.token(payload)))
        #expect(principal.issuer == TestIssuer.name)
        #expect(principal.subject == "user-7")
        #expect(principal.expiry == Timestamp(sinceEpoch: .seconds(beginning + 630)))
        #expect(
            principal.claims == [
                "iss": .string(TestIssuer.name), "sub": "user-7", "aud": ["other", "shop"],
                "exp": .integer(beginning + 600), "iat": .integer(beginning - 60), "tier": "premium",
                "roles": ["admin", "editor"], "age": 42, "rate": 0.5, "ok": true, "address": ["city": "Rome"],
                "none": .null,
            ])
    }

    @Test("every algorithm with public keys signs in", arguments: SignatureAlgorithm.asymmetric)
    func asymmetric(_ algorithm: SignatureAlgorithm) async throws {
        let key: TestKey =
            switch algorithm {
            case .es256: try .p256()
            case .es384: try .p384()
            case .es512: try .p521()
            case .edDSA: try .ed25519()
            default: try .rsa(algorithm)
            }
        let issuer = TestIssuer(key: key)
        let world = TestWorld(keySet(key.jwk("key-1")))
        let token = try issuer.token()
        #expect(try await world.authenticator().verdict(token).isAccepted)
        // Changes one byte of the payload and keeps the signature.
        let parts = token.split(separator: ".")
        let forged = "\(parts[0]).\(base64URL(TestIssuer.payload(["sub": "\"user-8\""]))).\(parts[2])"
        #expect(
            try await world.authenticator().verdict(forged) == .refused(.rejected, "The JWT's signature is invalid."))
        // The algorithm is not in the list.
        let others = SignatureAlgorithm.asymmetric.filter { $0 != algorithm }
        #expect(
            try await world.authenticator(others).verdict(token)
                == .refused(.rejected, "This server does not accept the JWT's algorithm."))
    }

    @Test("a secret signs in with any kid", arguments: SignatureAlgorithm.symmetric)
    func secret(_ algorithm: SignatureAlgorithm) async throws {
        let secret = [UInt8]("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef".utf8)
        let world = TestWorld()
        let authenticator = try await world.authenticator(JWTSecret(bytes: secret), [algorithm])
        let key = TestKey.secret(secret, algorithm)
        #expect(try await authenticator.verdict(TestIssuer(key: key, id: nil).token()).isAccepted)
        #expect(try await authenticator.verdict(TestIssuer(key: key, id: "any").token()).isAccepted)
        let wrong = TestKey.secret(secret.reversed(), algorithm)
        #expect(try await authenticator.verdict(TestIssuer(key: wrong).token()).code == .rejected)
        #expect(world.fetches == 0)
    }

    @Test("with a secret HS256 is the only algorithm unless others are set")
    func defaultOfSecret() async throws {
        let secret = [UInt8]("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef".utf8)
        let authenticator = try await TestWorld().authenticator(JWTSecret(bytes: secret))
        #expect(try await authenticator.verdict(TestIssuer(key: .secret(secret, .hs256)).token()).isAccepted)
        #expect(try await authenticator.verdict(TestIssuer(key: .secret(secret, .hs512)).token()).code == .rejected)
    }

    /// Members that make the payload invalid.
    private static let badClaims: [(name: String, value: String?, detail: String)] = [
        ("iss", nil, "'iss'"), ("iss", "\"https://login.example.com\"", "'iss'"), ("iss", "7", "'iss'"),
        ("iss", "\"HTTPS://login.example.com/\"", "'iss'"),
        ("aud", nil, "'aud'"), ("aud", "\"other\"", "'aud'"), ("aud", "[]", "'aud'"), ("aud", "[7]", "'aud'"),
        ("aud", "\"shop,other\"", "'aud'"), ("aud", "{\"shop\":1}", "'aud'"),
        ("sub", nil, "'sub'"), ("sub", "\"\"", "'sub'"), ("sub", "7", "'sub'"), ("sub", "null", "'sub'"),
        ("exp", nil, "no 'exp'"), ("exp", "null", "'exp'"), ("exp", "\"\(beginning + 600)\"", "'exp'"),
        ("exp", "1e300", "'exp'"), ("exp", "-1", "'exp'"), ("exp", "253402300800", "'exp'"),
        ("nbf", "\(beginning + 31)", "'nbf' is in the future"), ("nbf", "\"soon\"", "'nbf'"),
        ("nbf", "null", "'nbf'"),
        ("iat", "\(beginning + 31)", "'iat' is in the future"), ("iat", "true", "'iat'"),
    ]

    @Test("a claim that is missing or wrong is refused", arguments: badClaims)
    func badClaim(_ claim: (name: String, value: String?, detail: String)) async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let verdict = try await authenticator.verdict(issuer.token(TestIssuer.payload([claim.name: claim.value])))
        #expect(verdict.code == .rejected)
        #expect(verdict.detail?.contains(claim.detail) == true, "\(verdict)")
    }

    @Test("the leeway is thirty seconds for both the beginning and the end")
    func leeway() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        func verdict(_ changes: [String: String?]) async throws -> Verdict {
            try await authenticator.verdict(issuer.token(TestIssuer.payload(changes)))
        }
        // Its principal is valid for the rest of the leeway; otherwise the server would refuse it anyway.
        let late = try await verdict(["exp": "\(beginning - 29)"])
        #expect(late.principal?.expiry == Timestamp(sinceEpoch: .seconds(beginning + 1)))
        let last = try await verdict(["exp": "253402300799"])
        #expect(last.principal?.expiry == Timestamp(sinceEpoch: .seconds(253_402_300_799)))
        #expect(try await verdict(["exp": "\(beginning - 29).5"]).isAccepted)
        #expect(try await verdict(["exp": "\(beginning - 30)"]) == .refused(.expired, "The JWT has expired."))
        #expect(try await verdict(["exp": "0"]).code == .expired)
        #expect(try await verdict(["nbf": "\(beginning + 30)", "iat": "\(beginning + 30)"]).isAccepted)
        #expect(try await verdict(["iat": nil]).isAccepted)
    }

    @Test("names that are equivalent in Unicode are different names")
    func equivalence() async throws {
        let issuer = TestIssuer(key: try .ed25519(), id: "K")
        let world = TestWorld(keySet(issuer.key.jwk("K")))
        var settings = JWTSettings(issuer: "K", audiences: ["K"], keys: .url("https://login.example.com/keys"))
        settings.leeway = .zero
        let authenticator = try await JWTAuthenticator(
            settings, logger: world.log.logger, environment: world.environment)
        // The kelvin sign, which is equal to the letter K for Swift's ==.
        let sign = "\u{212A}"
        #expect(sign == "K")
        func verdict(issuer name: String, audience: String, id: String) async throws -> Verdict {
            let payload = TestIssuer.payload(["iss": "\"\(name)\"", "aud": "\"\(audience)\""])
            return try await authenticator.verdict(issuer.token(payload, header: #"{"alg":"EdDSA","kid":"\#(id)"}"#))
        }
        #expect(try await verdict(issuer: "K", audience: "K", id: "K").isAccepted)
        #expect(try await verdict(issuer: sign, audience: "K", id: "K").detail?.contains("'iss'") == true)
        #expect(try await verdict(issuer: "K", audience: sign, id: "K").detail?.contains("'aud'") == true)
        #expect(try await verdict(issuer: "K", audience: "K", id: sign).detail?.contains("'kid'") == true)
    }

    @Test(
        "two names that are equivalent in Unicode are refused at every depth",
        arguments: [
            "\"K\":1,\"\u{212A}\":2", "\"\u{E9}\":1,\"e\u{301}\":2", "\"x\":{\"a\":[{\"K\":1,\"\u{212A}\":2}]}",
            #""K":1,"\u212a":2"#,
        ])
    func equivalentNames(_ members: String) async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let payload = "{\(members),\(TestIssuer.payload().dropFirst())"
        #expect(
            try await authenticator.verdict(issuer.token(payload))
                == .refused(.rejected, "The JWT's payload has two members with equivalent names in Unicode."))
    }

    @Test("claim names and texts are compared byte by byte")
    func claimBytes() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let payload = TestIssuer.payload(["\u{212A}": "\"high\"", "groups": "[\"\u{212A}asse\"]"])
        let principal = try #require(try await authenticator.verdict(issuer.token(payload)).principal)
        #expect(principal.claim("K") == nil && principal.claim("\u{212A}") == "high")
        #expect(principal.claim("groups")?.contains("Kasse") == false)
        #expect(principal.claim("groups")?.contains("\u{212A}asse") == true)
    }

    @Test("the header's typ must be one of the settings', without regard to case and 'application/'")
    func types() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        func verdict(_ types: [String]?, _ member: String?) async throws -> Verdict {
            let world = TestWorld(keySet(issuer.key.jwk("key-1")))
            var settings = JWTSettings(
                issuer: TestIssuer.name, audiences: [TestIssuer.audience], keys: .url("https://login.example.com/keys"))
            settings.types = types
            let authenticator = try await JWTAuthenticator(
                settings, logger: world.log.logger, environment: world.environment)
            let header = member.map { issuer.header("\"typ\":\($0)") } ?? issuer.header()
            return try await authenticator.verdict(issuer.token(header: header))
        }
        for (types, member) in [
            (["at+jwt"], "\"at+jwt\""), (["AT+JWT"], "\"application/at+jwt\""), (["application/at+jwt"], "\"At+Jwt\""),
            (["JWT", "at+jwt"], "\"jwt\""), (nil, "\"anything\""), (nil, nil), (nil, "7"),
        ] as [([String]?, String?)] {
            #expect(try await verdict(types, member).isAccepted, "\(String(describing: member))")
        }
        for member in [nil, "\"JWT\"", "\"logout+jwt\"", "7", "null", "\"\"", "[\"at+jwt\"]", "\"at+jwt \""]
            as [String?]
        {
            #expect(
                try await verdict(["at+jwt"], member)
                    == .refused(.rejected, "This server does not accept the JWT's 'typ'."),
                "\(String(describing: member))")
        }
        // The long s, which matches an s without regard to case in Unicode.
        #expect(try await verdict(["logout+jwts"], "\"logout+jwt\u{17F}\"").code == .rejected)
    }
}
