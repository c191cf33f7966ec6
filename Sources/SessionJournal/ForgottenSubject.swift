import LibCrypto
import MVI

/// A subject whose data was deleted, as an HMAC (RFC 2104) with the installation's key: it names nobody to those without
/// the key, but a restored backup can be searched for the subject.
///
/// Kept in the journal, so that each backup has those before it, and in a file outside of it, so that a restore of an older
/// backup finds the later ones. Rows of older releases and of servers without a list have a key of their own beside
/// them, with which a list of names could be tried; it is sealed with the installation's where that is known.
package struct ForgottenSubject: Hashable, Sendable {
    /// The time since 1970 at which the data was deleted.
    package let time: Duration
    /// The id of the installation's key with what makes the row unique, or with a sealed key; or an own key of 32 bytes.
    package let key: [UInt8]
    package let code: [UInt8]

    /// A deleted subject with a key of its own, for a server that has no list and so no key.
    package static func plain(_ subject: Subject, at time: Duration) -> ForgottenSubject {
        var generator = SystemRandomNumberGenerator()
        let key: [UInt8] = (0..<32).map { _ in .random(in: .min ... .max, using: &generator) }
        return ForgottenSubject(time: time, key: key, code: HMACKey(key).code(for: message(subject)))
    }

    /// The bytes of which a code is made.
    static func message(_ subject: Subject) -> [UInt8] {
        Array(subject.issuer.utf8) + [0] + Array(subject.id.utf8)
    }

    /// True if its key stands beside it: a list of names could be tried.
    package var isPlain: Bool { key.count == 32 }

    // MARK: The file

    /// A line of the list, with its end.
    package var line: [UInt8] {
        let time = time.nanoseconds
        return Array("{\"time\":\(time),\"key\":\"\(Self.hex(key))\",\"code\":\"\(Self.hex(code))\"}\n".utf8)
    }

    /// Nil for a line that this program did not write.
    package init?(line: some StringProtocol) {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count == 11, parts[1] == "time", parts[3] == "key", parts[7] == "code",
            let time = Int64(parts[2].dropFirst().dropLast()), let key = Self.bytes(parts[5]),
            let code = Self.bytes(parts[9])
        else { return nil }
        (self.time, self.key, self.code) = (.nanoseconds(time), key, code)
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    static func bytes(_ hex: some StringProtocol) -> [UInt8]? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, hex.count.isMultiple(of: 2), hex.count >= 48 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    package init(time: Duration, key: [UInt8], code: [UInt8]) {
        (self.time, self.key, self.code) = (time, key, code)
    }
}
