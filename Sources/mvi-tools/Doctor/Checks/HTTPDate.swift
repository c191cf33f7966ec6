/// The dates of HTTP.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the seconds since 1970 of an IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7); nil
    /// for other texts.
    static func seconds(of text: String) -> Int? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), 1...31 ~= day,
            let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3]), 1970...9999 ~= year
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, 0...23 ~= clock[0], 0...59 ~= clock[1], 0...60 ~= clock[2] else { return nil }
        // Counts days by years that begin in March, so that a leap day is the last day of its year.
        let shifted = month < 2 ? year - 1 : year
        let leaps = shifted / 4 - shifted / 100 + shifted / 400
        let days = 365 * shifted + leaps + (153 * ((month + 10) % 12) + 2) / 5 + day - 719_469
        return ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    }
}
