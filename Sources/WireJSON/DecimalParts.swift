/// A JSON number taken apart: digits, as ASCII, times a power of ten.
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

    /// Saturated far beyond what the digits of a text of 4 GiB could make up for.
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
