/// A position in a session's log, written `<epoch>.<sequence>`. A stream sends it as `id` and accepts it as
/// `Last-Event-ID`. It is opaque to clients.
package struct Cursor: Hashable, Sendable {
    /// The epoch of the log that ``sequence`` counts in.
    package let epoch: String
    /// The number of the last turn that the cursor covers.
    package let sequence: UInt64

    /// Creates a cursor from valid parts.
    ///
    /// - Precondition: `epoch` passes ``Epoch/isValid(_:)``; check one that comes from outside the process first.
    package init(epoch: String, sequence: UInt64) {
        precondition(Epoch.isValid(epoch), "an epoch has 1 to \(Epoch.maximumLength) bytes of [A-Za-z0-9._~-]")
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Parses a cursor; nil for a text that ``description`` never returns: other bytes, more than 128 of them, no
    /// number, leading zeros or a number beyond 64 bits.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 128 else { return nil }
        let text = String(text)
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let epoch = text[..<dot]
        let digits = text[text.utf8.index(after: dot)...]
        guard Epoch.isValid(epoch), let sequence = UInt64(digits), digits.utf8.elementsEqual("\(sequence)".utf8) else {
            return nil
        }
        self.epoch = String(epoch)
        self.sequence = sequence
    }
}

extension Cursor: CustomStringConvertible {
    /// `<epoch>.<sequence>`, at most 128 bytes.
    package var description: String { "\(epoch).\(sequence)" }
}

/// The name of an epoch of a session's log. Each created or lost log gets a new one, so that cursors and versions of
/// different epochs are never confused.
package enum Epoch {
    /// The maximum number of bytes of an epoch. With the dot and the twenty digits of the largest sequence number, a
    /// cursor stays within its 128 bytes.
    package static let maximumLength = 107

    /// Returns a new epoch: 64 bits of the system's random number generator in base32 (RFC 4648 section 6), in lower
    /// case without padding: 13 characters.
    package static func random() -> String { name(.random(in: .min ... .max)) }

    /// Returns the first 64 bits of a digest in the same form.
    package static func name(digest: [UInt8]) -> String { name(digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }) }

    /// Returns 64 bits in the same form.
    package static func name(_ bits: UInt64) -> String {
        var bits = bits
        var digits = [UInt8](repeating: 0, count: 13)
        for index in digits.indices.reversed() {
            let digit = UInt8(bits & 31)
            digits[index] = digit < 26 ? UInt8(ascii: "a") + digit : UInt8(ascii: "2") + digit - 26
            bits >>= 5
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns true if a text is a valid epoch: 1 to 107 bytes of `A-Z a-z 0-9 . _ ~ -`. Other bytes in a cursor would
    /// make browsers send a preflight before they reconnect to another origin.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        return !bytes.isEmpty && bytes.count <= maximumLength && bytes.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
