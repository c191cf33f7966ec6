import Testing

@testable import JWTAuthentication

@Suite("Key sets")
struct KeySetTests {
    private static let everything = Set(SignatureAlgorithm.asymmetric)

    private func read(_ keys: String...) -> Result<KeySetDocument, KeySetDocument.Unusable> {
        read(Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8))
    }

    private func read(_ bytes: [UInt8]) -> Result<KeySetDocument, KeySetDocument.Unusable> {
        do throws(KeySetDocument.Unusable) {
            return .success(try KeySetDocument.read(bytes, for: Self.everything))
        } catch {
            return .failure(error)
        }
    }

    private func refusal(_ result: Result<KeySetDocument, KeySetDocument.Unusable>) -> String? {
        if case .failure(let error) = result { error.description } else { nil }
    }

    @Test("keys of unknown kinds and keys that are not for signatures are ignored, the others are used")
    func leftOut() throws {
        let key = try TestKey.p256()
        let document = try read(
            key.jwk("good", "\"use\":\"sig\"", "\"key_ops\":[\"verify\"]", "\"alg\":\"ES256\"", "\"x5c\":[\"MIIB\"]"),
            key.jwk("encrypts", "\"use\":\"enc\""), key.jwk("signs", "\"key_ops\":[\"sign\"]"),
            key.jwk("other", "\"alg\":\"ES384\""), key.jwk("number").replacing("\"number\"", with: "7"),
            #"{"kty":"AKP","kid":"new"}"#, #"{"kid":"none"}"#, #"{"kty":"OKP","kid":"x","crv":"X25519","x":"AAAA"}"#,
            #"{"kty":"EC","kid":"short","crv":"P-256","x":"AAAA","y":"AAAA"}"#,
            #"{"kty":"RSA","kid":"small","n":"\#(base64URL([UInt8](repeating: 255, count: 128)))","e":"AQAB"}"#,
            #"{"kty":"RSA","kid":"long","n":"\#(base64URL([UInt8](repeating: 255, count: 1_026)))","e":"AQAB"}"#,
            #"{"kty":"EC","kid":"off","crv":"P-256","x":"\#(base64URL([UInt8](repeating: 1, count: 32)))","y":"\#(base64URL([UInt8](repeating: 1, count: 32)))"}"#
        ).get()
        #expect(document.names == ["\"good\""])
        #expect(document.keys.keys.map { Array($0.verifiers.keys) } == [[.es256]])
        #expect(
            document.leftOut == [
                "\"encrypts\": it is not for signatures", "\"signs\": it is not for verifying",
                "\"other\": it is for none of the accepted algorithms", "key 5: its 'kid' is not a string",
                "\"new\": its type is none of RSA, EC and OKP", "\"none\": its type is none of RSA, EC and OKP",
                "\"x\": its curve is not Ed25519", "\"short\": its 'x' is missing or not what the key's type needs",
                "\"small\": it is not a valid key (RSA keys have at least 2048 bits)",
                "\"long\": its modulus has more than 8192 bits",
                "\"off\": it is not a valid key (RSA keys have at least 2048 bits)",
            ])
    }

    @Test(
        "a set with a private key or a secret is rejected",
        arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func privateMember(_ member: String) throws {
        let key = try TestKey.p256()
        let result = read(key.jwk("good"), key.jwk("bad", "\"\(member)\":\"AAAA\""))
        #expect(refusal(result) == "\"bad\" is a private key or a secret, which a key set must not publish")
    }

    @Test("a set with an 'oct' key is rejected, even without its value")
    func secret() throws {
        let key = try TestKey.p256()
        let result = read(key.jwk("good"), #"{"kty":"oct","kid":"shared"}"#)
        #expect(refusal(result) == "\"shared\" is a private key or a secret, which a key set must not publish")
    }

    @Test("a kid cannot forge a line of the log")
    func forgedLine() throws {
        let result = read(#"{"kty":"oct","kid":"a\n\u2028b"}"#)
        #expect(refusal(result)?.hasPrefix(#""a\n\u{2028}b" is a private key"#) == true, "\(refusal(result) ?? "")")
    }

    @Test("a set with two usable keys of one kid is rejected; several keys may have no kid")
    func twice() throws {
        let (first, second) = (try TestKey.p256(), try TestKey.ed25519())
        #expect(refusal(read(first.jwk("one"), second.jwk("one"))) == "it has several keys called \"one\"")
        #expect(try read(first.jwk(nil), second.jwk(nil)).get().names == ["key 1", "key 2"])
        #expect(try read(first.jwk("one"), second.jwk("one", "\"use\":\"enc\"")).get().names == ["\"one\""])
    }

    @Test(
        "a text that is not a key set is rejected",
        arguments: [
            "", "null", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, #"{"keys":[]}"#, #"{"keys":[],"keys":[]}"#,
            #"{"keys":["#, #"{"Keys":[]}"#, String(repeating: "[", count: 100_000),
        ])
    func malformed(_ text: String) {
        #expect(refusal(read(Array(text.utf8))) != nil)
    }

    @Test("a set has a hundred keys at most")
    func many() throws {
        let key = try TestKey.ed25519()
        let keys = (1...101).map { key.jwk("key-\($0)") }
        #expect(
            try read(Array("{\"keys\":[\(keys.dropLast().joined(separator: ","))]}".utf8)).get().names.count
                == 100)
        let all = Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)
        #expect(refusal(read(all)) == "it has more than 100 keys")
    }
}
