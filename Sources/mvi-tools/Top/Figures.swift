/// Formats numbers for the table.
enum Figures {
    /// A number with grouped thousands and a number of decimals.
    static func number(_ value: Double, decimals: Int = 0) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return value.isNaN ? "?" : "∞" }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let scaled = Int64((abs(value) * scale).rounded())
        let (whole, rest) = scaled.quotientAndRemainder(dividingBy: Int64(scale))
        var text = "\(whole)"
        var place = text.count - 3
        while place > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
            place -= 3
        }
        if decimals > 0 {
            let digits = "\(rest)"
            text += "." + String(repeating: "0", count: decimals - digits.count) + digits
        }
        return value < 0 && scaled > 0 ? "-" + text : text
    }

    /// A rate per second, with a decimal if it is small.
    static func rate(_ value: Double?) -> String {
        guard let value else { return "-" }
        if value == 0 { return "0" }
        if value < 0.05 { return "<0.1" }
        return number(value, decimals: value < 100 ? 1 : 0)
    }

    /// Seconds in the unit with one to three digits before the point.
    static func time(_ seconds: Double) -> String {
        switch seconds {
        case ..<0.000_999_5: "\(digits(seconds * 1_000_000)) µs"
        case ..<0.999_5: "\(digits(seconds * 1_000)) ms"
        default: "\(digits(seconds)) s"
        }
    }

    static func time(_ quantile: Histogram.Quantile?) -> String {
        guard let quantile else { return "-" }
        return (quantile.isBeyond ? ">" : "") + time(quantile.value)
    }

    static func count(_ quantile: Histogram.Quantile?) -> String {
        guard let quantile else { return "-" }
        return (quantile.isBeyond ? ">" : "") + digits(quantile.value)
    }

    /// Three digits.
    static func digits(_ value: Double) -> String {
        number(value, decimals: value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
    }

    static func bytes(_ value: Double?) -> String {
        guard let value else { return "-" }
        var (rest, unit) = (value, 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while rest >= 1_000, unit < units.count - 1 {
            rest /= 1_024
            unit += 1
        }
        return "\(unit == 0 ? number(rest) : digits(rest)) \(units[unit])"
    }

    static func gauge(_ value: Double?) -> String { value.map { number($0) } ?? "-" }

    /// `3d 04:05:06`.
    static func age(_ seconds: Double) -> String {
        let seconds = Int64(max(0, min(seconds, 1e12)))
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let clock = "\(two(seconds / 3_600 % 24)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        return seconds >= 86_400 ? "\(seconds / 86_400)d \(clock)" : clock
    }
}
