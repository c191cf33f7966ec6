/// Reads and writes JSON numbers exactly (RFC 8259 section 6).
enum NumberText {
    enum IntegerFailure: Error {
        case fraction
        case outOfRange
    }

    /// Appends an integer in decimal digits.
    static func append(_ magnitude: UInt64, isNegative: Bool = false, to output: inout [UInt8]) {
        // The largest integer has twenty digits.
        output.append(addingCapacity: 21) { output in
            if isNegative { output.append(UInt8(ascii: "-")) }
            append(digitsOf: magnitude, to: &output)
        }
    }

    /// Appends an integer of any width in decimal digits.
    static func append(wide value: some FixedWidthInteger, to output: inout [UInt8]) {
        output.append(contentsOf: String(value).utf8)
    }

    private static func append(digitsOf value: UInt64, to output: inout OutputSpan<UInt8>) {
        if value >= 10 { append(digitsOf: value / 10, to: &output) }
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
    }

    /// Appends the shortest digits that read back as the same finite value. Whole numbers are written without a decimal
    /// point.
    static func append(finite value: Double, to output: inout [UInt8]) {
        // In this range each whole number is exact, and its shortest digits are all of its digits.
        if value.magnitude < 0x1p53, value == value.rounded(.towardZero), value != 0 || value.sign == .plus {
            append(UInt64(value.magnitude), isNegative: value < 0, to: &output)
        } else {
            append(description: value.description, to: &output)
        }
    }

    /// Appends the shortest digits that read back as the same finite value of this type.
    static func append(finite value: Float, to output: inout [UInt8]) {
        append(description: value.description, to: &output)
    }

    /// Appends the `description` of a finite number, which is JSON, without the `.0` of a whole number.
    private static func append(description: String, to output: inout [UInt8]) {
        output.append(contentsOf: description.utf8)
        if output.suffix(2).elementsEqual(".0".utf8) { output.removeLast(2) }
    }

    /// Parses an integer of plain digits with an optional minus.
    static func integer<Integer: FixedWidthInteger>(
        _ text: ArraySlice<UInt8>, as type: Integer.Type
    ) throws(IntegerFailure) -> Integer {
        let isNegative = text.first == UInt8(ascii: "-")
        return try integer(isNegative ? text.dropFirst() : text, isNegative: isNegative)
    }

    private static func integer<Integer: FixedWidthInteger>(
        _ digits: some Sequence<UInt8>, isNegative: Bool
    ) throws(IntegerFailure) -> Integer {
        var value: Integer = 0
        for digit in digits {
            let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
            let step = Integer(truncatingIfNeeded: digit &- UInt8(ascii: "0"))
            // Accumulates towards the sign, since the smallest integer has no positive counterpart.
            let (sum, carry) =
                isNegative ? tenfold.subtractingReportingOverflow(step) : tenfold.addingReportingOverflow(step)
            if overflow || carry { throw .outOfRange }
            value = sum
        }
        return value
    }

    /// Parses an integer written with a fraction or an exponent, such as `1.0` or `1e2`, if it is exact.
    static func integerOfReal<Integer: FixedWidthInteger>(
        _ text: ArraySlice<UInt8>, as type: Integer.Type
    ) throws(IntegerFailure) -> Integer {
        var parts = DecimalParts(text)
        parts.dropTrailingZeros()
        if parts.digits.isEmpty { return 0 }
        if parts.exponent < 0 { throw .fraction }
        // No integer type here has more than 39 digits.
        if parts.exponent > 40 || parts.digits.count > 40 { throw .outOfRange }
        parts.digits.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: parts.exponent))
        return try integer(parts.digits, isNegative: parts.isNegative)
    }

    /// Returns true if two numbers have the same value, however it is written.
    static func areEqual(_ one: ArraySlice<UInt8>, _ two: ArraySlice<UInt8>) -> Bool {
        var (one, two) = (DecimalParts(one), DecimalParts(two))
        one.dropTrailingZeros()
        two.dropTrailingZeros()
        guard one.digits == two.digits else { return false }
        return one.digits.isEmpty || (one.exponent == two.exponent && one.isNegative == two.isNegative)
    }

    /// Returns the nearest value, ties to even; nil if it exceeds the largest finite one.
    static func double(_ text: ArraySlice<UInt8>) -> Double? {
        if let short = shortDouble(text) { return short }
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// Returns the nearest value, ties to even, rounded once; nil if it exceeds the largest finite one.
    static func float(_ text: ArraySlice<UInt8>) -> Float? {
        guard let value = Float(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// Parses up to fifteen digits with a decimal point and no exponent. The digits and the power of ten are exact, so
    /// one division rounds correctly (Clinger 1990).
    private static func shortDouble(_ text: ArraySlice<UInt8>) -> Double? {
        guard text.count <= 16 else { return nil }
        var digits: Int64 = 0
        var scale: Double = 1
        var isPastPoint = false
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits = digits &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
                if isPastPoint { scale *= 10 }
            case UInt8(ascii: "."): isPastPoint = true
            case UInt8(ascii: "-"): continue
            default: return nil
            }
        }
        guard digits < 1 << 53 else { return nil }
        let value = Double(digits) / scale
        return text.first == UInt8(ascii: "-") ? -value : value
    }
}

/// The parts of a JSON number: digits as ASCII, times a power of ten.
struct DecimalParts {
    var isNegative = false
    /// Without leading zeros; empty for zero.
    var digits: [UInt8] = []
    var exponent = 0

    init(_ text: ArraySlice<UInt8>) {
        var index = text.startIndex
        var isPastPoint = false
        scan: while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isPastPoint = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): break scan
            default:
                if isPastPoint { exponent -= 1 }
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte) }
            }
        }
        exponent += Self.exponent(text[index...])
    }

    /// Returns the exponent, saturated far beyond the range that the digits of a 4 GiB text could compensate.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        var value = 0
        for byte in text where byte >= UInt8(ascii: "0") {
            value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 1 << 40)
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }

    mutating func dropTrailingZeros() {
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
    }
}
