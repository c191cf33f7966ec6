/// The field `Retry-After` (RFC 9110 section 10.2.3).
enum RetryAfter {
    /// Returns the delay; nil if the text is neither a number of seconds nor a date in the preferred form. Numbers that
    /// are too large count as a day.
    ///
    /// - Parameter secondsSince1970: the present time.
    static func parse(_ text: String, secondsSince1970: Double) -> Duration? {
        let day = Duration.seconds(86_400)
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return min(Int64(text).map { .seconds($0) } ?? day, day)
        }
        guard let date = seconds(ofDate: text) else { return nil }
        return min(max(.seconds(Double(date) - secondsSince1970), .zero), day)
    }

    /// Returns the delay that an answer asks for; nil if it asks for none that can be read.
    ///
    /// A date is the server's, and is compared with the answer's `Date`: the device's clock may be wrong.
    ///
    /// - Parameters:
    ///   - fields: the answer's fields, with names in lower case.
    ///   - secondsSince1970: the device's time, for an answer without a readable `Date`.
    static func delay(in fields: [String: String], secondsSince1970: Double) -> Duration? {
        let sent = fields["date"].flatMap { seconds(ofDate: $0) }.map { Double($0) }
        return fields["retry-after"].flatMap { parse($0, secondsSince1970: sent ?? secondsSince1970) }
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the seconds since 1970 of an IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
    private static func seconds(ofDate text: String) -> Int? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3]), (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        // Days since 1970, counted in years that begin in March, so that a leap day comes last.
        let shifted = month < 2 ? year - 1 : year
        let days =
            365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * ((month + 10) % 12) + 2) / 5 + day
            - 719_469
        return ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    }
}
