/// The name of one life of a session's log: new whenever the log was created or lost, so that a cursor or a version
/// of another life is never taken for one of this.
public enum Epoch {
    /// The bytes of the longest epoch: with the dot and the twenty digits of the largest sequence number a cursor
    /// stays within its 128 bytes.
    public static let maximumLength = 107

    /// A new epoch: 64 bits of the system's random number generator in base32 (RFC 4648 section 6), lower case,
    /// without padding: 13 characters.
    public static func random() -> String {
        var bits = UInt64.random(in: .min ... .max)
        var digits = [UInt8](repeating: 0, count: 13)
        for index in digits.indices.reversed() {
            let digit = UInt8(bits & 31)
            digits[index] = digit < 26 ? UInt8(ascii: "a") + digit : UInt8(ascii: "2") + digit - 26
            bits >>= 5
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Whether a text may be an epoch: 1 to 107 bytes of `A-Z a-z 0-9 . _ ~ -`. Other bytes in a cursor would make
    /// browsers send a preflight before they reconnect to another origin.
    public static func isValid(_ text: some StringProtocol) -> Bool {
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
