import Crypto
import LibCrypto
import Testing

/// Compares our hashes and codes with swift-crypto's, for lengths around the ends of blocks.
@Suite("Hashes and codes of swift-crypto")
struct HashTests {
    private static let lengths = Array(0...300) + [1_000, 65_536]

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ count) } }

    @Test func `SHA-256`() {
        for count in Self.lengths {
            let bytes = bytes(count)
            let theirs = Array(Crypto.SHA256.hash(data: bytes))
            #expect(LibCrypto.SHA256.digest(bytes) == theirs)
            for cut in [0, count / 3, count] {
                var hash = LibCrypto.SHA256()
                hash.update(bytes[..<cut])
                hash.update(bytes[cut...])
                #expect(hash.digest() == theirs)
            }
        }
    }

    @Test func `HMAC with each hash`() {
        for count in Self.lengths.prefix(200) {
            let (secret, message) = (bytes(count), bytes(300 - count))
            let key = SymmetricKey(data: secret)
            #expect(
                HMACKey(secret, .sha256).code(for: message)
                    == Array(HMAC<Crypto.SHA256>.authenticationCode(for: message, using: key)))
            #expect(
                HMACKey(secret, .sha384).code(for: message)
                    == Array(HMAC<SHA384>.authenticationCode(for: message, using: key)))
            #expect(
                HMACKey(secret, .sha512).code(for: message)
                    == Array(HMAC<SHA512>.authenticationCode(for: message, using: key)))
        }
    }

    @Test func `a derived key`() {
        for count in Self.lengths.prefix(100) {
            let theirs = HKDF<Crypto.SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: bytes(count)), info: Array("a purpose".utf8), outputByteCount: 32)
            let code = Array(HMAC<Crypto.SHA256>.authenticationCode(for: [1], using: theirs))
            #expect(HMACKey.derived(from: bytes(count), for: "a purpose").code(for: [1]) == code)
        }
    }
}
