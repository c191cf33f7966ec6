import MVI
import WireJSON

/// A parsed key set (RFC 7517 section 5).
package struct KeySetDocument {
    /// The reason to reject a whole document.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// The largest number of bytes of a document.
    static let longest = 256 * 1024
    /// The largest number of keys of a document.
    private static let mostKeys = 100
    /// Members of private keys and of secrets (RFC 7518 sections 6.2.2, 6.3.2 and 6.4, RFC 8037 section 2).
    private static let privateMembers: [ClaimName] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    let keys: KeySet
    /// The `kid` of each key, or its position.
    package let names: [String]
    /// The ignored keys, each with the reason.
    package let leftOut: [String]

    /// Parses a document for tokens of those algorithms.
    ///
    /// Keys that are not for their signatures are ignored, as section 5 asks. A document with a private key, a secret,
    /// or two keys with one `kid` is rejected: it is the wrong one, or harms its issuer.
    package static func read(
        _ bytes: [UInt8], for algorithms: Set<SignatureAlgorithm>
    ) throws(Unusable) -> KeySetDocument {
        let entries = try Self.entries(bytes)
        var (keys, names, leftOut): ([KeySet.Key], [String], [String]) = ([], [], [])
        for (place, members) in entries.enumerated() {
            let name = Self.name(members, place)
            let key: KeySet.Key
            do throws(PublicKey.Unusable) {
                key = try Self.key(members, for: algorithms)
            } catch {
                leftOut.append("\(name): \(error.reason)")
                continue
            }
            guard key.id == nil || !keys.contains(where: { $0.id == key.id }) else {
                throw Unusable("it has several keys called \(name)")
            }
            keys.append(key)
            names.append(name)
        }
        guard !keys.isEmpty else {
            throw Unusable("it has no key that can be used" + leftOut.map { "; \($0)" }.joined())
        }
        return KeySetDocument(keys: KeySet(keys: keys), names: names, leftOut: leftOut)
    }

    private static func entries(_ bytes: [UInt8]) throws(Unusable) -> [[ClaimName: ClaimValue]] {
        let document: ClaimValue
        do throws(WireDecodingError) {
            document = try WireJSON.decode(ClaimValue.self, from: bytes, limits: WireLimits(maximumDepth: 32))
        } catch {
            throw Unusable("\(error)")
        }
        guard case .object(let members) = document, case .array(let values)? = members["keys"] else {
            throw Unusable("it is not a JSON object with a list \"keys\"")
        }
        guard values.count <= mostKeys else { throw Unusable("it has more than \(mostKeys) keys") }
        var entries: [[ClaimName: ClaimValue]] = []
        for (place, value) in values.enumerated() {
            guard case .object(let members) = value else { throw Unusable("key \(place + 1) is not a JSON object") }
            guard members["kty"]?.string != "oct", privateMembers.allSatisfy({ members[$0] == nil }) else {
                throw Unusable("\(name(members, place)) is a private key or a secret, which a key set must not publish")
            }
            entries.append(members)
        }
        return entries
    }

    private static func key(
        _ members: [ClaimName: ClaimValue], for algorithms: Set<SignatureAlgorithm>
    ) throws(PublicKey.Unusable) -> KeySet.Key {
        // Sections 4.2 and 4.3: the declared use of the key.
        guard members["use"].map({ $0 == "sig" }) ?? true else { throw .init("it is not for signatures") }
        guard members["key_ops"].map({ $0.contains("verify") }) ?? true else { throw .init("it is not for verifying") }
        guard members["kid"].map({ $0.string != nil }) ?? true else { throw .init("its 'kid' is not a string") }
        let key = try PublicKey(members)
        let fitting = key.algorithms.filter { algorithm in
            algorithms.contains(algorithm) && (members["alg"].map { $0 == .string(algorithm.rawValue) } ?? true)
        }
        guard !fitting.isEmpty else { throw .init("it is for none of the accepted algorithms") }
        var verifiers: [SignatureAlgorithm: SignatureVerifier] = [:]
        for algorithm in fitting { verifiers[algorithm] = SignatureVerifier(key.key, algorithm) }
        return KeySet.Key(id: members["kid"]?.string, verifiers: verifiers)
    }

    /// Names the key in a log line: its `kid`, shortened and escaped so that it cannot forge lines, or its position.
    private static func name(_ members: [ClaimName: ClaimValue], _ place: Int) -> String {
        members["kid"]?.string.map { String($0.prefix(64)).debugDescription.withoutInvisibles } ?? "key \(place + 1)"
    }
}
