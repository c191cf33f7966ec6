/// Points in time as text (RFC 3339), by the Gregorian calendar without leap seconds.
package enum RFC3339 {
    /// The seconds since 1970-01-01T00:00:00Z of the years 0000 to 9999. There is no text for others.
    package static let seconds = days(0, 1, 1) * 86_400..<days(10_000, 1, 1) * 86_400

    /// Returns the time in UTC, with whole seconds or with milliseconds: `2026-01-31T23:59:59.250Z`.
    package static func text(seconds: Int64, milliseconds: Int64? = nil) -> String {
        let days = seconds.flooredDivision(by: 86_400)
        let rest = seconds - days * 86_400
        let (year, month, day) = civilDate(daysSinceEpoch: days)
        let digits = "\(10_000 + year)".dropFirst()
        let fraction = milliseconds.map { ".\("\(1_000 + $0)".dropFirst())" } ?? ""
        return "\(digits)-\(two(month))-\(two(day))T\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
            + "\(fraction)Z"
    }

    /// Parses a time with any offset.
    ///
    /// - Returns: the time since 1970-01-01T00:00:00Z as whole seconds and nanoseconds after them; nil if the text is
    ///   invalid, or the time is in a year without a text.
    package static func parse(_ text: Substring) -> (seconds: Int64, nanoseconds: Int64)? {
        var rest = text.utf8[...]
        func digits(_ count: Int) -> Int64? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
            rest = rest.dropFirst(count)
            return digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
        }
        func take(_ characters: String) -> UInt8? {
            guard let first = rest.first, characters.utf8.contains(first) else { return nil }
            rest = rest.dropFirst()
            return first
        }
        guard let year = digits(4), take("-") != nil, let month = digits(2), take("-") != nil, let day = digits(2),
            take("Tt ") != nil, let hour = digits(2), take(":") != nil, let minute = digits(2), take(":") != nil,
            let second = digits(2), (1...12).contains(month), hour < 24, minute < 60, second < 61
        else { return nil }
        var fraction: Int64 = 0
        if take(".") != nil {
            let part = rest.prefix { (48...57).contains($0) }
            guard !part.isEmpty else { return nil }
            rest = rest.dropFirst(part.count)
            let digits = part.prefix(9).map { Int64($0 - 48) }
            fraction = (digits + Array(repeating: 0, count: 9 - digits.count)).reduce(0) { $0 * 10 + $1 }
        }
        var offset: Int64 = 0
        if take("Zz") == nil {
            guard let sign = take("+-"), let hours = digits(2), take(":") != nil, let minutes = digits(2),
                hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 3_600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
        }
        guard rest.isEmpty else { return nil }
        let days = days(year, month, day)
        // A day that does not exist in the month gives another date.
        guard day > 0, civilDate(daysSinceEpoch: days) == (year, month, day) else { return nil }
        let time = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        // An offset may lead to a year that has no text.
        return seconds.contains(time) ? (time, fraction) : nil
    }

    /// Computes the Gregorian date in eras of 400 years that begin on March 1, so that a leap day comes last.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = daysSinceEpoch + 719_468
        let era = days.flooredDivision(by: 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year.flooredDivision(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Int64 {
    /// Returns the largest integer that is not above the quotient.
    package func flooredDivision(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : -((divisor - 1 - self) / divisor)
    }
}
