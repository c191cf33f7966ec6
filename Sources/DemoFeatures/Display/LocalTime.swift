/// A local date and time of day, such as `2026-11-24 18:30`. Displaying it needs no time zone and therefore no
/// Foundation.
struct LocalTime: Codable, Hashable, Sendable {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int

    /// Returns the time `minutes` later.
    func adding(minutes: Int) -> LocalTime {
        let total = hour * 60 + minute + minutes
        let (days, rest) = (total >= 0 ? total / 1440 : (total - 1439) / 1440, ((total % 1440) + 1440) % 1440)
        var result = Self.date(fromDays: daysSince1970 + days)
        (result.hour, result.minute) = rest.quotientAndRemainder(dividingBy: 60)
        return result
    }

    /// "Tue 24 November".
    var dateText: String { "\(Self.weekdays[weekday]) \(day) \(monthName)" }

    /// "18:30".
    var timeText: String { "\(padded(hour)):\(padded(minute))" }

    /// "November 2026".
    var monthText: String { "\(monthName) \(year)" }

    /// "2026-11-24T18:30:00", ISO 8601 without a zone.
    var isoText: String { "\(year)-\(padded(month))-\(padded(day))T\(padded(hour)):\(padded(minute)):00" }

    private var monthName: String { Self.months[max(1, min(12, month)) - 1] }

    /// 0 is Sunday.
    private var weekday: Int { ((daysSince1970 + 4) % 7 + 7) % 7 }

    /// Days since 1970-01-01 in the Gregorian calendar. Years start in March here, so a leap day is the last day of its
    /// year; 400 years have 146,097 days.
    private var daysSince1970: Int {
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns the date at midnight for such a number of days.
    private static func date(fromDays days: Int) -> LocalTime {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return LocalTime(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1, hour: 0, minute: 0)
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
}

extension LocalTime {
    /// Parses `2026-11-24 18:30`, the database's format; nil for anything else.
    init?(_ text: String) {
        let parts = text.split { $0 == "-" || $0 == " " || $0 == ":" }.compactMap { Int($0) }
        guard text.utf8.count == 16, parts.count == 5, (1...12).contains(parts[1]), (1...31).contains(parts[2]),
            (0...23).contains(parts[3]), (0...59).contains(parts[4])
        else { return nil }
        self.init(year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4])
    }
}

private func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
