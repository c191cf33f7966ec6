/// The keys that verify signatures. A set never changes; a new one replaces it.
struct KeySet: Sendable {
    struct Key: Sendable {
        /// The `kid`; nil if it has none.
        let id: String?
        /// One verifier for each algorithm of the key.
        let verifiers: [SignatureAlgorithm: SignatureVerifier]
    }

    /// The result of a lookup.
    enum Match {
        case one(SignatureVerifier)
        /// No key has that `kid`: a newer set may.
        case unknownID
        /// The key of that `kid` is not for that algorithm.
        case unfit
        /// The token has no `kid`, and no key or several keys fit.
        case undecided
    }

    let keys: [Key]
    /// True if a token's `kid` selects the key; false for a secret, which is the only key.
    let comparesIDs: Bool

    init(keys: [Key]) { (self.keys, comparesIDs) = (keys, true) }

    /// Creates a set with a secret as its only key.
    init(_ secret: JWTSecret, for algorithms: Set<SignatureAlgorithm>) {
        let verifiers = algorithms.map { ($0, SignatureVerifier(secret, $0)) }
        keys = [Key(id: nil, verifiers: Dictionary(uniqueKeysWithValues: verifiers).compactMapValues { $0 })]
        comparesIDs = false
    }

    /// Returns the one key for a token. `kid` is compared byte by byte (RFC 7515 section 4.1.4).
    func match(id: String?, _ algorithm: SignatureAlgorithm) -> Match {
        guard let id, comparesIDs else {
            let verifiers = keys.compactMap { $0.verifiers[algorithm] }
            return verifiers.count == 1 ? .one(verifiers[0]) : .undecided
        }
        guard let key = keys.first(where: { $0.id.map { $0.utf8.elementsEqual(id.utf8) } ?? false }) else {
            return .unknownID
        }
        return key.verifiers[algorithm].map { .one($0) } ?? .unfit
    }
}
