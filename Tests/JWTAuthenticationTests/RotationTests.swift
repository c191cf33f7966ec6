import Locking
import MVIServer
import MVITesting
import Testing

@testable import JWTAuthentication

@Suite("Keys that change", .timeLimit(.minutes(10)))
struct RotationTests {
    @Test("a key removed from the set verifies nothing five minutes after the last read")
    func rotation() async throws {
        let (old, new) = (TestIssuer(key: try .p256(), id: "old"), TestIssuer(key: try .p256(), id: "new"))
        let world = TestWorld(keySet(old.key.jwk("old")))
        let authenticator = try await world.authenticator()
        #expect(try await authenticator.verdict(old.token()).isAccepted)
        world.answer(keySet(new.key.jwk("new")))
        world.advance(by: .seconds(299))
        #expect(try await authenticator.verdict(old.token()).isAccepted)
        #expect(world.fetches == 1)
        world.advance(by: .seconds(1))
        #expect(
            try await authenticator.verdict(old.token())
                == .refused(.rejected, "The JWT's 'kid' names no key of the issuer."))
        #expect(try await authenticator.verdict(new.token()).isAccepted)
        #expect(world.fetches == 2)
    }

    @Test("a new key under an old kid replaces it")
    func replacement() async throws {
        let (old, new) = (TestIssuer(key: try .p256()), TestIssuer(key: try .p256()))
        let world = TestWorld(keySet(old.key.jwk("key-1")))
        let authenticator = try await world.authenticator()
        #expect(try await authenticator.verdict(old.token()).isAccepted)
        world.answer(keySet(new.key.jwk("key-1")))
        world.advance(by: .seconds(300))
        #expect(try await authenticator.verdict(new.token()).isAccepted)
        #expect(try await authenticator.verdict(old.token()).code == .rejected)
    }

    @Test("an unknown kid causes at most one read a minute, which finds a new key")
    func unknownID() async throws {
        let (old, new) = (TestIssuer(key: try .p256(), id: "old"), TestIssuer(key: try .p256(), id: "new"))
        let world = TestWorld(keySet(old.key.jwk("old")))
        let authenticator = try await world.authenticator()
        #expect(try await authenticator.verdict(old.token()).isAccepted)
        for _ in 0..<50 { #expect(try await authenticator.verdict(new.token()).code == .rejected) }
        #expect(world.fetches == 2)
        world.answer(keySet(old.key.jwk("old"), new.key.jwk("new")))
        world.advance(by: .seconds(59))
        #expect(try await authenticator.verdict(new.token()).code == .rejected)
        #expect(try await authenticator.verdict(old.token()).isAccepted)
        #expect(world.fetches == 2)
        world.advance(by: .seconds(1))
        #expect(try await authenticator.verdict(new.token()).isAccepted)
        #expect(try await authenticator.verdict(old.token()).isAccepted)
        #expect(world.fetches == 3)
    }

    @Test("concurrent requests share one read, and requests with known keys do not wait for an unknown kid")
    func sharing() async throws {
        let (old, new) = (TestIssuer(key: try .p256(), id: "old"), TestIssuer(key: try .p256(), id: "new"))
        let (first, second) = (Gate(), Gate())
        let world = TestWorld()
        let keys = [keySet(old.key.jwk("old")), keySet(old.key.jwk("old"), new.key.jwk("new"))]
        world.answer { () throws(KeyReadError) in
            await first.waitDespiteCancellation()
            return keys[0]
        }
        let authenticator = try await world.authenticator()
        let tokens = (try old.token(), try new.token())
        await first.waiters()
        let verdicts = await withTaskGroup(of: Verdict?.self) { group in
            for _ in 0..<20 { group.addTask { try? await authenticator.verdict(tokens.0) } }
            first.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.count == 20 && verdicts.allSatisfy { $0?.isAccepted == true })
        #expect(world.fetches == 1)
        world.answer { () throws(KeyReadError) in
            await second.waitDespiteCancellation()
            return keys[1]
        }
        let answers = await withTaskGroup(of: Verdict?.self) { group in
            for _ in 0..<20 { group.addTask { try? await authenticator.verdict(tokens.1) } }
            await second.waiters()
            // The read for the new kid is running.
            let known = try? await authenticator.verdict(tokens.0)
            #expect(known?.isAccepted == true)
            #expect(!second.isOpen)
            second.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 20 && answers.allSatisfy { $0?.isAccepted == true })
        #expect(world.fetches == 2)
    }

    /// Answers of an address that contain no keys.
    private static let failures: [(name: String, content: [UInt8]?)] = [
        ("an error", nil), ("no bytes", []), ("an empty set", keySet()), ("no JSON", Array("<html>".utf8)),
        ("keys for nothing here", keySet(#"{"kty":"RSA","use":"enc","kid":"key-1","n":"AQAB","e":"AQAB"}"#)),
    ]

    @Test(
        "while the address fails, it is asked once a minute and the last keys stay valid for 24 hours",
        arguments: failures)
    func failure(_ failure: (name: String, content: [UInt8]?)) async throws {
        let issuer = TestIssuer(key: try .p256())
        let payload = TestIssuer.payload(["exp": "\(beginning + 200_000)"])
        let token = try issuer.token(payload)
        let unknown = try TestIssuer(key: issuer.key, id: "key-2").token(payload)
        let world = TestWorld(keySet(issuer.key.jwk("key-1")))
        let authenticator = try await world.authenticator()
        #expect(try await authenticator.verdict(token).isAccepted)
        world.answer { () throws(KeyReadError) in
            guard let content = failure.content else { throw KeyReadError("it is down") }
            return content
        }
        world.advance(by: .seconds(300))
        for _ in 0..<10 { #expect(try await authenticator.verdict(token).isAccepted) }
        #expect(world.fetches == 2)
        #expect(world.log.count("error: The keys for JWTs cannot be read; the last ones are used") == 1)
        world.advance(by: .seconds(59))
        #expect(try await authenticator.verdict(token).isAccepted)
        #expect(world.fetches == 2)
        world.advance(by: .seconds(1))
        #expect(try await authenticator.verdict(token).isAccepted)
        #expect(world.fetches == 3)
        // The key may be in the set that cannot be read: the client should try again.
        #expect(try await authenticator.verdict(unknown).code == .unavailable)
        world.advance(by: .seconds(24 * 3_600 - 361))
        #expect(try await authenticator.verdict(token).isAccepted)
        world.advance(by: .seconds(1))
        #expect(
            try await authenticator.verdict(token) == .refused(.unavailable, "The issuer's keys cannot be read now."))
        #expect(world.log.count("error: The keys for JWTs are too old; no JWT is accepted") == 1)
        // The address works again.
        world.answer(keySet(issuer.key.jwk("key-1")))
        world.advance(by: .seconds(5))
        #expect(try await authenticator.verdict(token).isAccepted)
    }

    @Test("without any keys sign-ins fail as unavailable, and the address is asked every five seconds")
    func neverThere() async throws {
        let issuer = TestIssuer(key: try .p256())
        let world = TestWorld()
        let authenticator = try await world.authenticator()
        for _ in 0..<10 { #expect(try await authenticator.verdict(issuer.token()).code == .unavailable) }
        #expect(world.fetches == 1)
        #expect(world.log.count("cannot be read; no JWT is accepted") == 1)
        world.answer(keySet(issuer.key.jwk("key-1")))
        world.advance(by: .seconds(5))
        #expect(try await authenticator.verdict(issuer.token()).isAccepted)
        #expect(world.fetches == 2)
        #expect(world.log.count("info: Read the keys for JWTs") == 1)
    }

    @Test("each change is logged once, a lasting failure every five minutes")
    func log() async throws {
        let issuer = TestIssuer(key: try .p256())
        let token = try issuer.token(TestIssuer.payload(["exp": "\(beginning + 200_000)"]))
        let world = TestWorld(keySet(issuer.key.jwk("key-1"), #"{"kty":"EC","kid":"odd\n","crv":"secp256k1"}"#))
        let authenticator = try await world.authenticator()
        for _ in 0..<5 {
            #expect(try await authenticator.verdict(token).isAccepted)
            world.advance(by: .seconds(300))
        }
        #expect(world.fetches == 5)
        let source = "source=https://login.example.com/keys"
        #expect(
            world.log.lines == [
                #"info: Read the keys for JWTs keys="key-1" \#(source)"#,
                #"notice: Ignored unusable JWT keys keys="odd\n": its curve is none of P-256, P-384 and P-521 \#(source)"#,
            ])
        world.answer { () throws(KeyReadError) in throw KeyReadError("it is down") }
        for _ in 0..<10 {
            #expect(try await authenticator.verdict(token).isAccepted)
            world.advance(by: .seconds(60))
        }
        #expect(world.log.count("it is down") == 2)
    }
}
