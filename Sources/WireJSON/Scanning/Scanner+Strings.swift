extension Scanner {
    /// RFC 8259 section 7, and section 8.1: the text is UTF-8. Escapes of unpaired surrogates are refused, since Swift
    /// strings cannot contain them (section 8.2 leaves that open).
    mutating func scanString() throws(WireDecodingError) {
        let start = index + 1
        var end = start
        while end < bytes.count, isPlain(bytes[end]) { end += 1 }
        index = end
        let isEscaped = try end == bytes.count || bytes[end] != UInt8(ascii: "\"") ? scanRestOfString() : false
        append(.string, from: start, isEscaped: isEscaped)
        index += 1
    }

    /// Returns true for a character of one byte without an escape.
    private func isPlain(_ byte: UInt8) -> Bool {
        // One comparison for: at least 0x20 and below 0x80.
        byte &- 0x20 < 0x60 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Advances to the closing quote. Returns true if there was an escape before it.
    private mutating func scanRestOfString() throws(WireDecodingError) -> Bool {
        var isEscaped = false
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""): return isEscaped
            case UInt8(ascii: "\\"):
                isEscaped = true
                try scanEscape()
            case ..<0x20:
                throw malformed("a control character in a string must be escaped")
            case ..<0x80:
                index += 1
            default:
                try scanMultibyte(byte)
            }
        }
        throw malformed("a string is not closed")
    }

    private mutating func scanEscape() throws(WireDecodingError) {
        guard index + 1 < bytes.count else {
            index = bytes.count
            throw malformed("a string is not closed")
        }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
        case UInt8(ascii: "u"):
            let first = try hexDigits()
            if UTF16.isTrailSurrogate(first) { throw malformed("an escape is an unpaired surrogate") }
            let escape = index
            index += 6
            guard UTF16.isLeadSurrogate(first) else { return }
            guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u"),
                UTF16.isTrailSurrogate(try hexDigits())
            else { throw .malformed(offset: escape, reason: "an escape is an unpaired surrogate") }
            index += 6
        default:
            throw malformed("an unknown escape")
        }
    }

    /// Returns the code unit of the present `\uXXXX`.
    private func hexDigits() throws(WireDecodingError) -> UInt16 {
        var unit: UInt16 = 0
        for position in index + 2..<index + 6 {
            guard position < bytes.count, let digit = EscapedText.hexValue(bytes[position]) else {
                throw malformed("'\\u' must be followed by four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Scans a character of two to four bytes: the well-formed sequences of RFC 3629 section 4, which exclude overlong
    /// forms, surrogates and values above U+10FFFF.
    private mutating func scanMultibyte(_ lead: UInt8) throws(WireDecodingError) {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF:
            length = 3
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            length = 4
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default: throw malformed("not UTF-8")
        }
        guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { throw malformed("not UTF-8") }
        for position in index + 2..<index + max(length, 2) where bytes[position] & 0xC0 != 0x80 {
            throw malformed("not UTF-8")
        }
        index += length
    }
}
