/// Parses a header field's value by the rules of RFC 9110 section 5.6, on bytes.
struct FieldScanner {
    private var rest: ArraySlice<UInt8>

    /// Shares the storage of `value`.
    init(_ value: ArraySlice<UInt8>) { rest = value }

    init(_ value: some StringProtocol) { rest = ArraySlice(value.utf8) }

    var isAtEnd: Bool { rest.isEmpty }
    var next: UInt8? { rest.first }

    /// Skips optional whitespace.
    mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    /// Consumes the byte if it is the next one.
    mutating func accept(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Returns a token, or with `orQuoted` a quoted string; nil if there is neither.
    mutating func word(orQuoted: Bool = false) -> String? {
        if orQuoted, rest.first == UInt8(ascii: "\"") { return quotedString() }
        let token = rest.prefix(while: Self.isTokenByte)
        guard !token.isEmpty else { return nil }
        rest = rest.dropFirst(token.count)
        return String(decoding: token, as: UTF8.self)
    }

    /// Returns a quoted string without quotes and escapes; nil if it is not closed or has a control character.
    mutating func quotedString() -> String? {
        guard accept("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped)
            case 0..<0x20, 0x7F: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    /// Skips to one of the bytes, or to the end.
    mutating func skip(to stops: [UInt8]) { rest = rest.drop { !stops.contains($0) } }

    /// The remaining bytes.
    var remainder: ArraySlice<UInt8> { rest }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// Comparisons of fields without creating strings.
extension ArraySlice<UInt8> {
    /// Returns true if the bytes equal the lowercase `text` in any case.
    func isCaselessly(_ text: [UInt8]) -> Bool {
        guard count == text.count else { return false }
        for (byte, wanted) in zip(self, text) {
            let isCapital = byte &- 0x41 < 26
            guard isCapital ? byte | 0x20 == wanted : byte == wanted else { return false }
        }
        return true
    }

    /// Returns the bytes without optional whitespace at both ends (RFC 9110 section 5.6.3).
    func trimmingBlanks() -> Self {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var start = startIndex
        var end = endIndex
        while start < end, isBlank(self[start]) { start += 1 }
        while end > start, isBlank(self[end - 1]) { end -= 1 }
        return self[start..<end]
    }

    /// The number that the digits are; nil if they are none or the number is too large.
    var decimal: Int? {
        var number = 0
        for byte in self {
            let (shifted, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.addingReportingOverflow(Int(byte &- 0x30))
            guard byte &- 0x30 < 10, !overflow, !carry else { return nil }
            number = sum
        }
        return isEmpty ? nil : number
    }
}
