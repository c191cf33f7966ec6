import LibCrypto
import Testing

@Suite("Hashes and codes")
struct HashTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `a SHA-256 is that of FIPS 180-4, also of bytes in parts`() {
        #expect(
            hex(SHA256.digest([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(hex(SHA256.digest(Array("abc".utf8))) == abc)
        var parts = SHA256()
        for part in ["", "ab", "", "c"] { parts.update(Array(part.utf8)[...]) }
        // A copy is independent.
        var other = parts
        other.update([0])
        #expect(hex(parts.digest()) == abc)
        let words = parts.words()
        #expect(words.0 == 0xba78_16bf_8f01_cfea && words.3 == 0xb410_ff61_f200_15ad)
        #expect(hex(other.digest()) != abc)
    }

    /// RFC 4231 section 4.3, test case 2.
    private static let codes: [(HashFunction, String)] = [
        (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            .sha384,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"
        ),
        (
            .sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
        ),
    ]

    @Test("a code is that of RFC 4231, however often the key makes one", arguments: codes)
    func code(_ hash: HashFunction, _ expected: String) {
        let key = HMACKey(Array("Jefe".utf8), hash)
        let message = Array("what do ya want for nothing?".utf8)
        let code = key.code(for: message)
        #expect(hex(code) == expected)
        #expect(key.code(for: []) != code)
        #expect(key.code(for: message) == code)
        #expect(key.isCode(code, for: message))
        #expect(!key.isCode(code, for: message + [0]))
        #expect(!key.isCode(code.dropLast(), for: message) && !key.isCode([], for: message))
        #expect(!key.isCode(code + [0], for: message))
        for place in code.indices {
            var wrong = code
            wrong[place] ^= 1
            #expect(!key.isCode(wrong, for: message))
        }
    }

    @Test func `a key is used by many threads at once`() async {
        let key = HMACKey([7])
        let expected = (0..<64).map { key.code(for: [$0]) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { (0..<64).allSatisfy { key.isCode(expected[Int($0)], for: [$0]) } } }
            for await isEqual in group { #expect(isEqual) }
        }
    }

    @Test func `a key without bytes is the key of zeros, as RFC 2104 fills it up`() {
        #expect(HMACKey([]).code(for: [1]) == HMACKey([UInt8](repeating: 0, count: 64)).code(for: [1]))
    }

    @Test func `a derived key is that of RFC 5869`() {
        // Appendix A.3, which has neither a salt nor an info: the first 32 bytes.
        let key = HMACKey.derived(from: [UInt8](repeating: 0x0b, count: 22), for: "")
        let expected: [UInt8] = [
            0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f, 0x71, 0x5f, 0x80, 0x2a, 0x06, 0x3c, 0x5a, 0x31, 0xb8, 0xa1,
            0x1f, 0x5c, 0x5e, 0xe1, 0x87, 0x9e, 0xc3, 0x45, 0x4e, 0x5f, 0x3c, 0x73, 0x8d, 0x2d,
        ]
        #expect(key.code(for: [1, 2]) == HMACKey(expected).code(for: [1, 2]))
    }
}
