/// Times as clients read them.
package enum Timestamp {
    /// RFC 3339, UTC, whole seconds: `2026-01-31T23:59:59Z`.
    static func text(sinceEpoch time: Duration) -> String { "\(secondsText(time.components.seconds))Z" }

    /// RFC 3339, UTC, with milliseconds: `2026-01-31T23:59:59.250Z`.
    package static func precise(sinceEpoch time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        // A time before 1970 has a negative rest.
        let milliseconds = attoseconds / 1_000_000_000_000_000
        let isBefore = milliseconds < 0
        let digits = "\(1_000 + (isBefore ? milliseconds + 1_000 : milliseconds))".dropFirst()
        return "\(secondsText(isBefore ? seconds - 1 : seconds)).\(digits)Z"
    }

    private static func secondsText(_ seconds: Int64) -> String {
        let days = seconds.flooredDivision(by: 86_400)
        let rest = seconds - days * 86_400
        let (year, month, day) = civilDate(daysSinceEpoch: days)
        return "\(year)-\(two(month))-\(two(day))T\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
    }

    /// The Gregorian date, by counting in eras of 400 years that begin on a March 1st, so that a leap day comes last.
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

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : -((divisor - 1 - self) / divisor)
    }
}
