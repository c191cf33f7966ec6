import Crypto
import JWTKit
import LibCrypto
import Testing

/// Compares our verdicts on signatures with jwt-kit's, and both with the vectors'.
@Suite("Signatures of Wycheproof")
struct SignatureTests {
    private typealias Hash = LibCrypto.HashFunction

    /// One key in both libraries.
    private struct Keys {
        /// Nil if we refuse the key.
        let ours: VerificationKey?
        let scheme: SignatureScheme
        /// Nil if jwt-kit refuses the key.
        let theirs: (any JWTAlgorithm)?

        func verdicts(_ signature: [UInt8], _ message: [UInt8]) -> (ours: Bool, theirs: Bool) {
            (
                ours?.isSignature(signature, of: message[...], by: scheme) ?? false,
                (try? theirs?.verify(signature, signs: message)) ?? false
            )
        }
    }

    private static let hashes: [String: (Hash, DigestAlgorithm, salt: Int)] = [
        "SHA-256": (.sha256, .sha256, 32), "SHA-384": (.sha384, .sha384, 48), "SHA-512": (.sha512, .sha512, 64),
    ]

    /// The reasons for which a group fits no algorithm of a JWT.
    private enum NotOfJWT: String, Hashable, CaseIterable {
        case hash = "RFC 7518 has SHA-256, SHA-384 and SHA-512 only"
        case mask = "RFC 7518 section 3.5: MGF1 has the signature's hash"
        case salt = "RFC 7518 section 3.5: the salt is as long as the hash"
    }

    /// Valid signatures that both refuse, by the reason.
    private static let shortKey = "RFC 7518 section 3.3: an RSA key has 2048 bits at least"

    // MARK: ECDSA

    private static let curves = [
        ("ecdsa_secp256r1_sha256", VerificationKey.Curve.p256), ("ecdsa_secp384r1_sha384", .p384),
        ("ecdsa_secp521r1_sha512", .p521),
    ]

    private func ecKeys(_ curve: VerificationKey.Curve, _ group: Vectors.Group) async throws -> Keys {
        let point = Vectors.bytes(try #require(group.publicKey?.uncompressed)).dropFirst()
        let (x, y) = (Array(point.prefix(curve.size)), Array(point.dropFirst(curve.size)))
        let texts = (x: base64URL(x), y: base64URL(y))
        let collection = JWTKeyCollection()
        let hash: Hash
        switch curve {
        case .p256: (hash, _) = (.sha256, await collection.add(ecdsa: try ES256PublicKey(parameters: texts)))
        case .p384: (hash, _) = (.sha384, await collection.add(ecdsa: try ES384PublicKey(parameters: texts)))
        case .p521: (hash, _) = (.sha512, await collection.add(ecdsa: try ES512PublicKey(parameters: texts)))
        }
        return Keys(ours: .ec(curve, x: x, y: y), scheme: .ecdsa(hash), theirs: try await collection.getKey())
    }

    @Test("ECDSA signatures in the form of a JWS", arguments: curves)
    func ecdsa(_ file: String, _ curve: VerificationKey.Curve) async throws {
        var count = 0
        for group in try Vectors.read("Test Vectors/\(file)_p1363_test").testGroups {
            let keys = try await ecKeys(curve, group)
            for test in group.tests {
                compare(keys, test, Vectors.bytes(test.sig))
                count += 1
            }
        }
        #expect(count > 100)
    }

    @Test("ECDSA signatures in DER, taken apart as a JWS has them", arguments: curves)
    func der(_ file: String, _ curve: VerificationKey.Curve) async throws {
        var (count, unreadable) = (0, 0)
        for group in try Vectors.read("Test Vectors/\(file)_test").testGroups {
            let keys = try await ecKeys(curve, group)
            for test in group.tests {
                let der = Vectors.bytes(test.sig)
                // DER itself is not a signature of a JWS.
                #expect(keys.verdicts(der, Vectors.bytes(test.msg)) == (false, false), "\(test)")
                guard let raw = Self.raw(der, curve) else {
                    unreadable += 1
                    #expect(test.result == .invalid, "\(test)")
                    continue
                }
                compare(keys, test, raw)
                count += 1
            }
        }
        #expect(count > 100 && unreadable > 10)
    }

    private static func raw(_ der: [UInt8], _ curve: VerificationKey.Curve) -> [UInt8]? {
        switch curve {
        case .p256: (try? P256.Signing.ECDSASignature(derRepresentation: der)).map { Array($0.rawRepresentation) }
        case .p384: (try? P384.Signing.ECDSASignature(derRepresentation: der)).map { Array($0.rawRepresentation) }
        case .p521: (try? P521.Signing.ECDSASignature(derRepresentation: der)).map { Array($0.rawRepresentation) }
        }
    }

    // MARK: Ed25519

    @Test func `Ed25519 signatures`() async throws {
        var count = 0
        for group in try Vectors.read("Test Vectors/ed25519_test").testGroups {
            let bytes = Vectors.bytes(try #require(group.publicKey?.pk))
            let collection = JWTKeyCollection()
            await collection.add(eddsa: try EdDSA.PublicKey(x: base64URL(bytes), curve: .ed25519))
            let keys = Keys(ours: .ed25519(bytes), scheme: .ed25519, theirs: try await collection.getKey())
            for test in group.tests {
                compare(keys, test, Vectors.bytes(test.sig))
                count += 1
            }
        }
        #expect(count == 150)
    }

    // MARK: RSA

    private static let rsaFiles = [
        "rsa_signature_2048_sha256", "rsa_signature_2048_sha512", "rsa_signature_3072_sha256",
        "rsa_signature_3072_sha512",
        "rsa_signature_4096_sha512", "rsa_signature", "rsa_pss_2048_sha1_mgf1_20", "rsa_pss_2048_sha256_mgf1_0",
        "rsa_pss_2048_sha256_mgf1_32", "rsa_pss_3072_sha256_mgf1_32", "rsa_pss_4096_sha256_mgf1_32",
        "rsa_pss_4096_sha512_mgf1_32", "rsa_pss_misc",
    ]

    private func rsaKeys(
        _ group: Vectors.Group, _ hash: (ours: Hash, theirs: DigestAlgorithm, salt: Int)
    ) async throws -> Keys {
        let (n, e) = (Vectors.bytes(try #require(group.n)), Vectors.bytes(try #require(group.e)))
        // The vector's numbers are signed integers, a JWK's are not (RFC 7518 section 6.3.1.1).
        let (modulus, exponent) = (Array(n.drop { $0 == 0 }), Array(e.drop { $0 == 0 }))
        let collection = JWTKeyCollection()
        let key = try? JWTKit.Insecure.RSA.PublicKey(modulus: base64URL(modulus), exponent: base64URL(exponent))
        if let key, group.mgfSha == nil { await collection.add(rsa: key, digestAlgorithm: hash.theirs) }
        if let key, group.mgfSha != nil { await collection.add(pss: key, digestAlgorithm: hash.theirs) }
        return Keys(
            ours: .rsa(modulus: modulus, exponent: exponent),
            scheme: group.mgfSha == nil ? .rsaPKCS1(hash.ours) : .rsaPSS(hash.ours),
            theirs: key == nil ? nil : try await collection.getKey())
    }

    @Test func `RSA signatures of both kinds`() async throws {
        var (count, short, leftOut) = (0, 0, Set<NotOfJWT>())
        for file in Self.rsaFiles {
            for group in try Vectors.read("CryptoExtrasVectors/\(file)_test").testGroups {
                guard let hash = group.sha.flatMap({ Self.hashes[$0] }) else {
                    leftOut.insert(.hash)
                    continue
                }
                let keys = try await rsaKeys(group, hash)
                #expect((keys.ours == nil) == (keys.theirs == nil), "\(file) \(group.n ?? "")")
                // A signature with other parameters is not one of a JWT.
                var other: NotOfJWT?
                if group.mgfSha.map({ $0 != group.sha }) ?? false { other = .mask }
                if group.sLen.map({ $0 != hash.salt }) ?? false { other = .salt }
                other.map { _ = leftOut.insert($0) }
                for test in group.tests {
                    let isShort = keys.ours == nil
                    if isShort { short += 1 }
                    compare(keys, test, Vectors.bytes(test.sig), isShort: isShort, other: other)
                    count += 1
                }
            }
        }
        #expect(count > 1_000)
        #expect(short > 0, "\(Self.shortKey): no vector has such a key any more")
        #expect(leftOut == Set(NotOfJWT.allCases))
    }

    // MARK: Verdicts

    /// - Parameters:
    ///   - isShort: true if the key is too short for a JWT.
    ///   - other: the parameters of the vector that no JWT has, if any.
    private func compare(
        _ keys: Keys, _ test: Vectors.Test, _ signature: [UInt8], isShort: Bool = false, other: NotOfJWT? = nil
    ) {
        let verdicts = keys.verdicts(signature, Vectors.bytes(test.msg))
        #expect(verdicts.ours == verdicts.theirs, "\(test)")
        switch test.result {
        case .valid: #expect(verdicts.ours == (!isShort && other == nil), "\(test)")
        case .invalid: #expect(!verdicts.ours || other != nil, "\(test)")
        case .acceptable: break
        }
    }
}
