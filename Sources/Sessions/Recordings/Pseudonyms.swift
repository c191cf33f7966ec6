import LibCrypto
import Locking
import MVI
import WireJSON

/// Writes values of `Secret` as keyed pseudonyms.
@usableFromInline
package final class Pseudonyms: SecretNamer {
    private let key: Lock<HMACKey>

    /// Pseudonyms of an own, random key.
    package init() {
        key = Lock(HMACKey((0..<32).map { _ in UInt8.random(in: .min ... .max) }))
    }

    /// Uses a key that follows from the journal's secret, so that all servers of a journal write the same pseudonyms.
    func use(_ secret: [UInt8]) {
        let derived = HMACKey.derived(from: secret, for: "pseudonyms")
        key.withLock { $0 = derived }
    }

    package func pseudonym(of value: any Encodable) throws -> String {
        let code = key.withLock { $0 }.code(for: try WireJSON.encode(value))
        return SecretCoding.pseudonym(String(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 36))
    }
}
