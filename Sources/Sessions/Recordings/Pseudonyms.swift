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

    /// Returns recorded JSON with other pseudonyms in the place of those that it has: the same one for the same one.
    func renamed(_ json: [UInt8]) -> [UInt8] {
        var (output, rest) = ([UInt8](), json[...])
        let end = Array(#"›"}"#.utf8)
        while let start = rest.firstRange(of: SecretCoding.mark),
            let stop = rest[start.upperBound...].firstRange(of: end)
        {
            output += rest[..<start.upperBound]
            output += namer.name(Array(rest[start.upperBound..<stop.lowerBound])).utf8
            output += end
            rest = rest[stop.upperBound...]
        }
        return output + rest
    }

    private final class Namer: SecretNamer {
        let key = Lock(HMACKey((0..<32).map { _ in UInt8.random(in: .min ... .max) }))

        func pseudonym(of value: any Encodable) throws -> String? {
            SecretCoding.pseudonym(name(try WireJSON.encode(value)))
        }

        func name(_ bytes: [UInt8]) -> String {
            let code = key.withLock { $0 }.code(for: bytes)
            return String(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 36)
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
