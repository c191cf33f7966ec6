import CLibCrypto

/// A secret that makes and checks HMACs (RFC 2104). Nothing that prints it shows its bytes.
///
/// `@unchecked Sendable`: the context is only read, by `EVP_MAC_CTX_dup`, whose parameter is const; such calls are safe at
/// once (openssl-threads(7)). What it shares with a copy has a count of references that is atomic.
package final class HMACKey: @unchecked Sendable {
    /// Has the key, and nothing of a message.
    private let context: OpaquePointer
    private let hash: HashFunction

    /// A key of any number of bytes.
    package init(_ secret: [UInt8], _ hash: HashFunction = .sha256) {
        // The same key (RFC 2104 section 2), but not the null pointer that an empty array has.
        let secret = secret.isEmpty ? [0] : secret
        guard let context = clibcrypto_hmac(hash.name, secret, secret.count) else {
            fatalError("OpenSSL has no HMAC with \(hash.name), or no memory")
        }
        (self.context, self.hash) = (context, hash)
    }

    deinit { EVP_MAC_CTX_free(context) }

    /// The code of a message: as many bytes as the hash has.
    package func code(for message: [UInt8]) -> [UInt8] {
        let copy = EVP_MAC_CTX_dup(context)
        defer { EVP_MAC_CTX_free(copy) }
        return [UInt8](unsafeUninitializedCapacity: hash.size) { code, count in
            guard EVP_MAC_update(copy, message, message.count) == 1,
                EVP_MAC_final(copy, code.baseAddress, &count, code.count) == 1, count == hash.size
            else { fatalError("OpenSSL made no HMAC: it has no memory") }
        }
    }

    /// Whether a code is the message's. Takes the same time for each wrong code of the right length.
    package func isCode(_ code: [UInt8], for message: [UInt8]) -> Bool {
        code.count == hash.size && CRYPTO_memcmp(code, self.code(for: message), hash.size) == 0
    }

    /// The key of 32 bytes that HKDF (RFC 5869) derives from a secret without a salt, for one purpose.
    package static func derived(from secret: [UInt8], for purpose: String) -> HMACKey {
        let extracted = HMACKey(HMACKey([]).code(for: secret))
        return HMACKey(extracted.code(for: Array(purpose.utf8) + [1]))
    }
}
