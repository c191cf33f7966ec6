import LibCrypto
import Locking
import MVI
import Synchronization
import WireJSON

/// Writes values of `Secret` as keyed pseudonyms.
@usableFromInline
package final class Pseudonyms: Sendable {
    private let namer = Namer()
    private let counter = Counter()
    /// The user info of encoders that write pseudonyms.
    @usableFromInline package let writing: [CodingUserInfoKey: any Sendable]
    /// The user info of encoders that write values, and count the secrets among them.
    @usableFromInline let counting: [CodingUserInfoKey: any Sendable]

    /// Pseudonyms of an own, random key.
    package init() { (writing, counting) = (SecretCoding.writing(namer), SecretCoding.writing(counter)) }

    /// Uses a key that follows from the journal's secret, so that all servers of a journal write the same pseudonyms.
    func use(_ secret: [UInt8]) {
        let derived = HMACKey.derived(from: secret, for: "pseudonyms")
        namer.key.withLock { $0 = derived }
    }

    /// The number of secrets that encoders with `counting` wrote, on all threads.
    @usableFromInline var count: Int { counter.count.load(ordering: .relaxed) }

    /// Nil for what is not JSON.
    func pseudonym(of value: any Encodable) -> String? { try? namer.pseudonym(of: value) }

    private final class Namer: SecretNamer {
        let key = Lock(HMACKey((0..<32).map { _ in UInt8.random(in: .min ... .max) }))

        func pseudonym(of value: any Encodable) throws -> String? {
            let code = key.withLock { $0 }.code(for: try WireJSON.encode(value))
            return SecretCoding.pseudonym(String(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 36))
        }
    }

    private final class Counter: SecretNamer {
        let count = Atomic(0)

        func pseudonym(of value: any Encodable) -> String? {
            count.add(1, ordering: .relaxed)
            return nil
        }
    }
}
