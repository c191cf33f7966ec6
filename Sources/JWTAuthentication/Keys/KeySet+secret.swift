import JWTKit

extension KeySet {
    /// A secret as the only key.
    init(_ secret: JWTSecret, for algorithms: Set<SignatureAlgorithm>) async {
        var verifiers: [SignatureAlgorithm: SignatureVerifier] = [:]
        for (algorithm, digest) in [
            (SignatureAlgorithm.hs256, DigestAlgorithm.sha256), (.hs384, .sha384), (.hs512, .sha512),
        ]
        where algorithms.contains(algorithm) {
            // A collection of one key: jwt-kit falls back to a collection's first key for a `kid` that it does not know.
            let collection = JWTKeyCollection()
            await collection.add(hmac: HMACKey(from: secret.bytes), digestAlgorithm: digest)
            guard let key = try? await collection.getKey() else { continue }
            verifiers[algorithm] = SignatureVerifier(key)
        }
        self.init(keys: [Key(id: nil, verifiers: verifiers)], comparesIDs: false)
    }
}
