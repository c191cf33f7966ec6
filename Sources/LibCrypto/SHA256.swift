import CLibCrypto

/// An incremental SHA-256 (FIPS 180-4) without allocations.
package struct SHA256 {
    private var context = SHA256_CTX()

    package init() { SHA256_Init(&context) }

    package mutating func update(_ bytes: ArraySlice<UInt8>) {
        _ = bytes.withUnsafeBytes { SHA256_Update(&context, $0.baseAddress, $0.count) }
    }

    /// The digest as four numbers, the most significant byte first.
    package consuming func words() -> (UInt64, UInt64, UInt64, UInt64) {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &words) { bytes in
            _ = SHA256_Final(bytes.bindMemory(to: UInt8.self).baseAddress, &context)
        }
        return (
            UInt64(bigEndian: words.0), UInt64(bigEndian: words.1), UInt64(bigEndian: words.2),
            UInt64(bigEndian: words.3)
        )
    }

    /// The digest's 32 bytes.
    package consuming func digest() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { bytes, count in
            SHA256_Final(bytes.baseAddress, &context)
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }

    /// Returns the digest of bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes[...])
        return hash.digest()
    }
}
