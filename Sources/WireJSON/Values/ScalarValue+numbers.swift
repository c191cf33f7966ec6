#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A number with all digits, which never becomes a `Double`.
extension Decimal: ScalarValue {
    func encodeScalar(to encoder: ValueEncoder) throws {
        guard isFinite else { throw encoder.session.error(ValueEncoder.notFinite).thrown }
        try encoder.encode(number: description)
    }

    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> Decimal {
        switch session.kind(node) {
        case .integer, .real:
            let text = session.raw(node)
            // Longer numbers are rounded, which shows when they are written again.
            guard let value = Decimal(string: String(decoding: text, as: UTF8.self)), value.isFinite,
                NumberText.areEqual(Array(value.description.utf8)[...], text)
            else { throw session.corrupted(node, "expected a number with at most 38 digits") }
            return value
        case .object:
            if let value = decodeStorage(at: node, in: session) { return value }
        default: break
        }
        throw session.wrongKind(node, expected: "a number", Decimal.self)
    }
}

/// A number of seconds, with the digits that it needs.
extension Duration: ScalarValue {
    func encodeScalar(to encoder: ValueEncoder) throws {
        guard self >= .seconds(Int64.min), self <= .seconds(Int64.max) else {
            throw encoder.session.error("a duration must be at most \(Int64.max) seconds").thrown
        }
        let (seconds, attoseconds) = components
        var text = "\(self < .zero ? "-" : "")\(seconds.magnitude)"
        if attoseconds != 0 {
            text += ".\("\(attoseconds.magnitude + Self.attosecondsPerSecond)".dropFirst())"
            while text.last == "0" { text.removeLast() }
        }
        try encoder.encode(number: text)
    }

    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> Duration {
        switch session.kind(node) {
        case .integer, .real:
            guard let value = parse(session.raw(node)) else {
                throw session.corrupted(node, "expected seconds with at most 18 decimal places")
            }
            return value
        case .array:
            if let value = decodeStorage(at: node, in: session) { return value }
        default: break
        }
        throw session.wrongKind(node, expected: "a number of seconds", Duration.self)
    }

    /// Returns the exact duration of a number of seconds; nil if there is none.
    private static func parse(_ text: ArraySlice<UInt8>) -> Duration? {
        var parts = DecimalParts(text)
        parts.dropTrailingZeros()
        guard !parts.digits.isEmpty else { return .zero }
        // Seconds have at most 19 digits, attoseconds 18.
        guard parts.exponent >= -18, parts.exponent < 19, parts.digits.count < 38 else { return nil }
        let zero = UInt8(ascii: "0")
        let places = max(0, -parts.exponent)
        let whole = parts.digits.dropLast(places) + Array(repeating: zero, count: max(0, parts.exponent))
        let fraction = parts.digits.suffix(places)
        let padded =
            Array(repeating: zero, count: places - fraction.count) + fraction
            + Array(repeating: zero, count: 18 - places)
        let sign = parts.isNegative ? [UInt8(ascii: "-")] : []
        guard let seconds = try? NumberText.integer((sign + whole)[...], as: Int64.self),
            let attoseconds = try? NumberText.integer((sign + padded)[...], as: Int64.self)
        else { return nil }
        return Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
    }

    private static let attosecondsPerSecond: UInt64 = 1_000_000_000_000_000_000
}
