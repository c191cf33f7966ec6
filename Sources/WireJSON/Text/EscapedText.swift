/// Strings as JSON writes them (RFC 8259 section 7).
enum EscapedText {
    /// Appends a string in quotes. Only quotes, backslashes and control characters are escaped.
    static func append(_ string: String, to output: inout [UInt8]) {
        string.withUTF8Span { append($0, to: &output) }
    }

    /// Appends the UTF-8 bytes of a string in quotes.
    @inline(__always)
    static func append(_ text: Span<UInt8>, to output: inout [UInt8]) {
        let isAppended = text.count <= 64 ? appendShort(text, to: &output) : appendLong(text, to: &output)
        if !isAppended { appendEscaped(text, to: &output) }
    }

    /// Appends a short text byte by byte, which costs less than preparing vector code. Returns false, and appends
    /// nothing, if it must be escaped.
    @inline(__always)
    private static func appendShort(
        _ text: Span<UInt8>, afterComma: Bool = false, withColon: Bool = false, to output: inout [UInt8]
    ) -> Bool {
        let start = output.count
        var isPlain = true
        output.append(addingCapacity: text.count + 4) { output in
            if afterComma { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            for index in text.indices {
                let byte = text[index]
                if mustBeEscaped(byte) { isPlain = false }
                output.append(byte)
            }
            output.append(UInt8(ascii: "\""))
            if withColon { output.append(UInt8(ascii: ":")) }
        }
        if !isPlain { output.removeSubrange(start...) }
        return isPlain
    }

    private static func appendLong(_ text: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard isPlain(text) else { return false }
        output.append(addingCapacity: text.count + 2) { output in
            output.append(UInt8(ascii: "\""))
            for index in text.indices { output.append(text[index]) }
            output.append(UInt8(ascii: "\""))
        }
        return true
    }

    /// Appends a member's name with its colon, after a comma if it is not the first.
    static func append(name: String, isFirst: Bool, to output: inout [UInt8]) {
        name.withUTF8Span { text in
            // Names are short.
            if appendShort(text, afterComma: !isFirst, withColon: true, to: &output) { return }
            if !isFirst { output.append(UInt8(ascii: ",")) }
            appendEscaped(text, to: &output)
            output.append(UInt8(ascii: ":"))
        }
    }

    /// Returns true if nothing in a text must be escaped.
    private static func isPlain(_ text: Span<UInt8>) -> Bool {
        // Without an early exit the compiler vectorizes this. Few texts need escapes.
        var found: UInt8 = 0
        for index in text.indices {
            let byte = text[index]
            found |= (byte < 0x20 ? 1 : 0) | (byte == UInt8(ascii: "\"") ? 1 : 0) | (byte == UInt8(ascii: "\\") ? 1 : 0)
        }
        return found == 0
    }

    private static func appendEscaped(_ text: Span<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for index in text.indices { append(text[index], to: &output) }
        output.append(UInt8(ascii: "\""))
    }

    /// Returns the bytes of a checked string literal with its escapes resolved.
    static func unescaped(_ raw: ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(raw.count)
        var index = raw.startIndex
        while index < raw.endIndex {
            guard raw[index] == UInt8(ascii: "\\") else {
                text.append(raw[index])
                index += 1
                continue
            }
            // Incomplete escapes are not read beyond the end, since not all texts have passed the scanner.
            guard index + 1 < raw.endIndex else { break }
            let letter = raw[index + 1]
            index += 2
            switch letter {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                guard index + 4 <= raw.endIndex else { return text }
                var value = UInt32(codeUnit(raw[index..<index + 4]))
                index += 4
                if 0xD800..<0xDC00 ~= value, index + 6 <= raw.endIndex {
                    // The scanner has checked that the other half follows.
                    value = 0x10000 + (value - 0xD800) << 10 + UInt32(codeUnit(raw[index + 2..<index + 6])) & 0x3FF
                    index += 6
                }
                append(scalar: value, to: &text)
            default: text.append(letter)
            }
        }
        return text
    }

    /// Appends a character as UTF-8 (RFC 3629 section 3), without creating a string for each.
    private static func append(scalar value: UInt32, to text: inout [UInt8]) {
        func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | value >> shift & 0x3F) }
        switch value {
        case ..<0x80: text.append(UInt8(value))
        case ..<0x800:
            text.append(UInt8(0xC0 | value >> 6))
            text.append(tail(0))
        case ..<0x10000:
            text.append(UInt8(0xE0 | value >> 12))
            text.append(tail(6))
            text.append(tail(0))
        default:
            text.append(UInt8(0xF0 | value >> 18))
            text.append(tail(12))
            text.append(tail(6))
            text.append(tail(0))
        }
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func codeUnit(_ digits: ArraySlice<UInt8>) -> UInt16 {
        digits.reduce(0) { $0 << 4 | UInt16(hexValue($1) ?? 0) }
    }

    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func append(_ byte: UInt8, to output: inout [UInt8]) {
        let letter: UInt8
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): letter = byte
        case 0x08: letter = UInt8(ascii: "b")
        case 0x0C: letter = UInt8(ascii: "f")
        case 0x0A: letter = UInt8(ascii: "n")
        case 0x0D: letter = UInt8(ascii: "r")
        case 0x09: letter = UInt8(ascii: "t")
        case ..<0x20:
            let low = byte & 0x0F
            output.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u001").utf8)
            output.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
            return
        default:
            output.append(byte)
            return
        }
        output.append(UInt8(ascii: "\\"))
        output.append(letter)
    }
}
