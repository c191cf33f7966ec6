import Foundation
import MVIServer
import Testing

@testable import JWTAuthentication

@Suite("Attacks with JWTs")
struct AttackTests {
    @Test(
        "a token without a signature is refused, with any spelling of 'none'",
        arguments: ["none", "None", "NONE", "nOnE", ""])
    func none(_ name: String) async throws {
        let issuer = TestIssuer(key: try .rsa())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let header = base64URL(#"{"alg":"\#(name)","kid":"key-1"}"#)
        let payload = base64URL(TestIssuer.payload())
        #expect(
            try await authenticator.verdict("\(header).\(payload).") == .refused(.rejected, "The JWT is not signed."))
        let signed = try issuer.token(header: #"{"alg":"\#(name)","kid":"key-1"}"#)
        #expect(
            try await authenticator.verdict(signed)
                == .refused(.rejected, "This server does not accept the JWT's algorithm."))
        // The valid header with its signature cut off.
        let parts = try issuer.token().split(separator: ".")
        #expect(try await authenticator.verdict("\(parts[0]).\(parts[1]).").code == .rejected)
        #expect(try await authenticator.verdict("\(parts[0]).\(parts[1])").code == .rejected)
    }

    @Test("HS256 with the public key's PEM, DER or JWK as the secret is refused")
    func confusion() async throws {
        let issuer = TestIssuer(key: try .rsa())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let info = try TestKey.rsaKey.get().rsaInfo()
        let lines = Data(info).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        let pem = "-----BEGIN PUBLIC KEY-----\n\(lines)\n-----END PUBLIC KEY-----"
        let secrets = [
            Array(pem.utf8), Array((pem + "\n").utf8), info, Array(issuer.key.jwk("key-1").utf8),
        ]
        for secret in secrets {
            for algorithm in SignatureAlgorithm.symmetric {
                let attacker = TestIssuer(key: .secret(secret, algorithm))
                let verdict = try await authenticator.verdict(attacker.token())
                #expect(verdict == .refused(.rejected, "This server does not accept the JWT's algorithm."))
            }
            // HMAC under the algorithm name of the key.
            let attacker = TestIssuer(key: .secret(secret))
            let renamed = try attacker.token(header: #"{"alg":"RS256","kid":"key-1"}"#)
            #expect(try await authenticator.verdict(renamed) == .refused(.rejected, "The JWT's signature is invalid."))
        }
    }

    @Test("a token is verified only with the key of its kid, even if another key of the set signed it")
    func swappedID() async throws {
        let (first, second) = (try TestKey.rsa(), try TestKey.rsa(.rs256, TestKey.otherRSAKey))
        let curve = try TestKey.p256()
        let world = TestWorld(keySet(first.jwk("key-1"), second.jwk("key-2"), curve.jwk("key-3")))
        let authenticator = try await world.authenticator()
        #expect(try await authenticator.verdict(TestIssuer(key: second, id: "key-2").token()).isAccepted)
        #expect(
            try await authenticator.verdict(TestIssuer(key: second, id: "key-1").token())
                == .refused(.rejected, "The JWT's signature is invalid."))
        #expect(
            try await authenticator.verdict(TestIssuer(key: first, id: "key-3").token())
                == .refused(.rejected, "The key of the JWT's 'kid' is not for its algorithm."))
        // Other libraries try the first key.
        #expect(
            try await authenticator.verdict(TestIssuer(key: first, id: "KEY-1").token())
                == .refused(.rejected, "The JWT's 'kid' names no key of the issuer."))
        #expect(try await authenticator.verdict(TestIssuer(key: first, id: "").token()).code == .rejected)
    }

    @Test("without a kid exactly one key must fit the algorithm")
    func withoutID() async throws {
        let (first, second) = (try TestKey.rsa(), try TestKey.rsa(.rs256, TestKey.otherRSAKey))
        let curve = try TestKey.p256()
        let detail = "The JWT has no 'kid', and not exactly one key fits its algorithm."
        let several = try await TestWorld(keySet(first.jwk("key-1"), second.jwk(nil), curve.jwk("key-3")))
            .authenticator()
        #expect(try await several.verdict(TestIssuer(key: first, id: nil).token()) == .refused(.rejected, detail))
        #expect(try await several.verdict(TestIssuer(key: second, id: nil).token()) == .refused(.rejected, detail))
        #expect(try await several.verdict(TestIssuer(key: curve, id: nil).token()).isAccepted)
        let edwards = try TestKey.ed25519()
        #expect(try await several.verdict(TestIssuer(key: edwards, id: nil).token()) == .refused(.rejected, detail))
        // A token with a kid matches no key without one.
        let nameless = try await TestWorld(keySet(first.jwk(nil))).authenticator()
        #expect(try await nameless.verdict(TestIssuer(key: first, id: nil).token()).isAccepted)
        #expect(try await nameless.verdict(TestIssuer(key: first, id: "key-1").token()).code == .rejected)
    }

    @Test("a key with an alg verifies no other algorithm of its type")
    func keyAlgorithm() async throws {
        let key = try TestKey.rsa(.rs256)
        let authenticator = try await TestWorld(keySet(key.jwk("key-1", "\"alg\":\"PS256\""))).authenticator()
        #expect(
            try await authenticator.verdict(TestIssuer(key: key).token())
                == .refused(.rejected, "The key of the JWT's 'kid' is not for its algorithm."))
        #expect(try await authenticator.verdict(TestIssuer(key: .rsa(.ps256)).token()).isAccepted)
    }

    @Test(
        "a header with keys, extensions or two members of one name is refused",
        arguments: [
            (#""crit":["exp"]"#, "'crit'"), (#""crit":[]"#, "'crit'"), (#""crit":null"#, "'crit'"),
            (#""crit":["b64"],"b64":false"#, "'crit'"), (#""jku":"https://evil.example.com/keys""#, "'jku'"),
            (#""x5u":"https://evil.example.com/chain""#, "'x5u'"), (#""x5c":["MIIB"]"#, "'x5c'"),
            (#""jwk":{"kty":"RSA"}"#, "'jwk'"), (#""kid":"key-1""#, "duplicate member name"),
            (#""alg":"none""#, "duplicate member name"), (#""\u0061lg":"EdDSA""#, "duplicate member name"),
        ])
    func header(_ member: (text: String, detail: String)) async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let world = TestWorld(keySet(issuer.key.jwk("key-1")))
        let authenticator = try await world.authenticator()
        // All of them are signed by the right key.
        let verdict = try await authenticator.verdict(issuer.token(header: issuer.header(member.text)))
        #expect(verdict.code == .rejected)
        #expect(verdict.detail?.contains(member.detail) == true, "\(verdict)")
        #expect(try await authenticator.verdict(issuer.token(header: issuer.header(#""typ":"JWT""#))).isAccepted)
    }

    @Test("a token with the attacker's own key in its header is refused")
    func embeddedKey() async throws {
        let (issuer, attacker) = (TestIssuer(key: try .p256()), TestIssuer(key: try .p256()))
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let header = attacker.header("\"jwk\":\(attacker.key.jwk("key-1"))")
        #expect(try await authenticator.verdict(attacker.token(header: header)).detail?.contains("'jwk'") == true)
        #expect(
            try await authenticator.verdict(attacker.token()) == .refused(.rejected, "The JWT's signature is invalid.")
        )
    }

    @Test("a payload with two members of one name, or that is not an object, is refused even if it is signed")
    func payload() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let twice = TestIssuer.payload().dropLast() + #","sub":"admin"}"#
        let nested = TestIssuer.payload(["a": #"{"b":1,"b":2}"#])
        for payload in [String(twice), nested] {
            let verdict = try await authenticator.verdict(issuer.token(payload))
            #expect(verdict.detail?.contains("duplicate member name") == true, "\(verdict)")
        }
        for payload in ["", "null", "[]", "\"text\"", "{", "{}x", String(repeating: "[", count: 5_000)] {
            let verdict = try await authenticator.verdict(issuer.token(payload))
            #expect(verdict.code == .rejected)
            #expect(verdict.detail?.contains("payload") == true, "\(verdict)")
        }
    }

    @Test("an ECDSA signature in another form, and one of zeros, is refused")
    func signatures() async throws {
        let issuer = TestIssuer(key: try .p256())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let parts = try issuer.token().split(separator: ".")
        for signature in [[UInt8](repeating: 0, count: 64), [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01], [1]] {
            let verdict = try await authenticator.verdict("\(parts[0]).\(parts[1]).\(base64URL(signature))")
            #expect(verdict == .refused(.rejected, "The JWT's signature is invalid."))
        }
    }

    @Test("a text that is not a JWT is refused and not repeated")
    func garbage() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let world = TestWorld(keySet(issuer.key.jwk("key-1")))
        let authenticator = try await world.authenticator()
        let good = try issuer.token()
        let parts = good.split(separator: ".")
        let bad = [
            "", ".", "..", "...", "garbage", "a.b.c", "gar.ba.ge", good + ".", "." + good, good + "=", " " + good,
            "Bearer " + good, good + "\n", good + "\u{0}", "\(good).x.y", "é.é.é", good.replacing("-", with: "+") + "+",
            "\(parts[0])=.\(parts[1]).\(parts[2])", "\(parts[2]).\(parts[1]).\(parts[0])",
        ]
        for text in bad {
            let verdict = try await authenticator.verdict(text)
            #expect(verdict.code == .rejected, "\(text): \(verdict)")
            #expect(!text.contains("garbage") || verdict.detail?.contains("garbage") == false)
        }
        #expect(try await authenticator.verdict(nil).code == .rejected)
        #expect(!world.log.lines.contains { $0.contains(parts[2]) || $0.contains(parts[1]) })
    }

    @Test("the unused bits of a signature's last letter are zero: a token has one spelling")
    func spelling() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        let good = try issuer.token()
        // 64 bytes end with a letter of which two bits count: A, Q, g or w.
        let next: [Character: Character] = ["A": "B", "Q": "R", "g": "h", "w": "x"]
        let last = try #require(good.last.flatMap { next[$0] })
        #expect(try await authenticator.verdict(good).isAccepted)
        #expect(
            try await authenticator.verdict(good.dropLast() + String(last))
                == .refused(.rejected, "The JWT's signature is not base64url."))
    }

    @Test("a token may have 16 KiB, and not a byte more")
    func length() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let authenticator = try await TestWorld(keySet(issuer.key.jwk("key-1"))).authenticator()
        // Base64url cannot have every length, so the header grows too.
        func token(_ filling: Int, _ blanks: Int) throws -> String {
            try issuer.token(
                TestIssuer.payload(["fill": "\"\(String(repeating: "x", count: filling))\""]),
                header: issuer.header() + String(repeating: " ", count: blanks))
        }
        let filling = (16 * 1024 - (try token(0, 0)).utf8.count) / 4 * 3 - 3
        let all = try (0..<9).flatMap { more in try (0..<3).map { try token(filling + more, $0) } }
        let longest = try #require(all.first { $0.utf8.count == 16 * 1024 })
        let tooLong = try #require(all.first { $0.utf8.count == 16 * 1024 + 1 })
        #expect(try await authenticator.verdict(longest).isAccepted)
        let detail = "The JWT is longer than 16384 bytes."
        #expect(try await authenticator.verdict(tooLong) == .refused(.rejected, detail))
        let huge = String(repeating: "x", count: 1 << 20)
        #expect(try await authenticator.verdict(huge) == .refused(.rejected, detail))
    }
}
