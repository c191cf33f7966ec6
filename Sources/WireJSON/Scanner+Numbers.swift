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

    /// The byte at hand; 0, which is part of no JSON text, at the end.
    private func peek() -> UInt8 {
        index < bytes.count ? bytes[index] : 0
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
