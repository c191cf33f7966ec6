import CLibCrypto

/// A secret that creates and verifies HMACs (RFC 2104). Its bytes are never printed.
///
/// `@unchecked Sendable`: the context is only read, by `EVP_MAC_CTX_dup`, whose parameter is const; concurrent calls
/// are safe (openssl-threads(7)). State shared with a copy has an atomic reference count.
package final class HMACKey: @unchecked Sendable {
    /// Contains the key, and nothing of a message.
    private let context: OpaquePointer
    private let hash: HashFunction

    /// A key of any length.
    package init(_ secret: [UInt8], _ hash: HashFunction = .sha256) {
        // The same key (RFC 2104 section 2), but with an address, which an empty array lacks.
        let secret = secret.isEmpty ? [0] : secret
        guard let context = clibcrypto_hmac(hash.name, secret, secret.count) else {
            fatalError("OpenSSL has no HMAC with \(hash.name), or no memory")
        }
        (self.context, self.hash) = (context, hash)
    }

    deinit { EVP_MAC_CTX_free(context) }

    /// Returns the code of a message, as long as the hash.
    package func code(for message: [UInt8]) -> [UInt8] {
        let copy = EVP_MAC_CTX_dup(context)
        defer { EVP_MAC_CTX_free(copy) }
        return [UInt8](unsafeUninitializedCapacity: hash.size) { code, count in
            guard EVP_MAC_update(copy, message, message.count) == 1,
                EVP_MAC_final(copy, code.baseAddress, &count, code.count) == 1, count == hash.size
            else { fatalError("OpenSSL made no HMAC: it has no memory") }
        }
    }

    /// True if the code is the message's. Takes the same time for all wrong codes of the right length.
    package func isCode(_ code: [UInt8], for message: [UInt8]) -> Bool {
        code.count == hash.size && CRYPTO_memcmp(code, self.code(for: message), hash.size) == 0
    }

    /// Derives a key of 32 bytes from a secret for one purpose, by HKDF (RFC 5869) without a salt.
    package static func derived(from secret: [UInt8], for purpose: String) -> HMACKey {
        let extracted = HMACKey(HMACKey([]).code(for: secret))
        return HMACKey(extracted.code(for: Array(purpose.utf8) + [1]))
    }
}
