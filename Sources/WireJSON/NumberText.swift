/// Numbers as JSON writes them (RFC 8259 section 6), read and written exactly.
enum NumberText {
    enum IntegerFailure: Error {
        case fraction
        case outOfRange
    }

    /// Appends an integer in decimal digits.
    @inline(__always)
    static func append<Integer: FixedWidthInteger>(_ value: Integer, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        if let magnitude = UInt64(exactly: value.magnitude) {
            append(digitsOf: magnitude, to: &output)
        } else {
            output.append(contentsOf: String(value.magnitude).utf8)
        }
    }

    private static func append(digitsOf value: UInt64, to output: inout [UInt8]) {
        if value < 10 { return output.append(UInt8(ascii: "0") + UInt8(value)) }
        let end = output.count
        var rest = value
        repeat {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        // The digits came last first.
        var (low, high) = (end, output.count - 1)
        while low < high {
            output.swapAt(low, high)
            low += 1
            high -= 1
        }
    }

    /// Appends the shortest digits that read back as the same value; false, and nothing, for NaN and the infinities,
    /// which JSON does not know.
    static func append<Value: BinaryFloatingPoint & CustomStringConvertible>(
        _ value: Value, to output: inout [UInt8]
    ) -> Bool {
        guard value.isFinite else { return false }
        let text = value.description
        output.append(contentsOf: text.hasSuffix(".0") ? text.dropLast(2).utf8 : text[...].utf8)
        return true
    }

    /// An integer of plain digits, perhaps with a minus.
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
            // Towards the sign: the smallest integer has no positive counterpart.
            let (sum, carry) =
                isNegative ? tenfold.subtractingReportingOverflow(step) : tenfold.addingReportingOverflow(step)
            if overflow || carry { throw .outOfRange }
            value = sum
        }
        return value
    }

    /// An integer written with a fraction or an exponent, such as `1.0` or `1e2`: taken when it is exactly one.
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

    /// The nearest value, ties to even; nil when it is beyond the largest finite one.
    static func double(_ text: ArraySlice<UInt8>) -> Double? {
        if let short = shortDouble(text) { return short }
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// The nearest value, ties to even, rounded once; nil when it is beyond the largest finite one.
    static func float(_ text: ArraySlice<UInt8>) -> Float? {
        guard let value = Float(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// Up to fifteen digits with a point and no exponent: both the digits and the power of ten are exact, so that one
    /// division rounds correctly (Clinger 1990).
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
