extension Scanner {
    /// RFC 8259 section 6: `number = [ minus ] int [ frac ] [ exp ]`.
    mutating func scanNumber() throws(WireDecodingError) {
        let start = index
        var kind = Node.Kind.integer
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        if peek() == UInt8(ascii: "0") {
            index += 1
            if isDigit(peek()) { throw malformed("a number must not start with 0") }
        } else {
            try scanDigits()
        }
        if peek() == UInt8(ascii: ".") {
            kind = .real
            index += 1
            try scanDigits()
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            kind = .real
            index += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { index += 1 }
            try scanDigits()
        }
        append(kind, from: start)
    }

    private mutating func scanDigits() throws(WireDecodingError) {
        guard isDigit(peek()) else { throw malformed("expected a digit") }
        repeat { index += 1 } while isDigit(peek())
    }

    /// Returns the present byte; 0, which is never part of JSON, at the end.
    private func peek() -> UInt8 {
        index < bytes.count ? bytes[index] : 0
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}

/// Checks the keys of the cases that one example encodes, before other values can reveal what is missing.
final class KeyCheck {
    static let twoUnlabelled = "it has two values without a label; give them labels"
    static let labelledType = "it has a value labeled 'type', which is the name of the case; rename the value"
    static let twoValues =
        "it has a value labeled 'value' and one without a label, which has the same name; rename the first"

    /// The case of the example itself.
    private(set) var firstCase: String?
    /// The case that has a problem, which may belong to a nested enum.
    private(set) var failedCase: String?

    /// Returns the reason why a case cannot be represented in JSON, from all members that it may have.
    func problem<Key: CodingKey>(of name: String, keys: Key.Type) -> String? {
        firstCase = firstCase ?? name
        let unlabelled = (0..<32).count { Key(stringValue: "_\($0)") != nil }
        let problem: String? =
            if unlabelled > 1 {
                Self.twoUnlabelled
            } else if Key(stringValue: EnumShape.discriminator) != nil {
                Self.labelledType
            } else if unlabelled > 0, Key(stringValue: EnumShape.unlabelled) != nil {
                Self.twoValues
            } else {
                nil
            }
        if problem != nil { failedCase = failedCase ?? name }
        return problem
    }
}
