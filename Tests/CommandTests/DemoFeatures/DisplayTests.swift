import Testing

@testable import DemoFeatures

@Suite struct DisplayTests {
    @Test(arguments: [
        (0, "€0.00"), (5, "€0.05"), (8_450, "€84.50"), (123_456_789, "€1,234,567.89"), (-1_500, "−€15.00"),
        (-5, "−€0.05"), (Int.min, "−€92,233,720,368,547,758.08"),
    ])
    func `money shows cents and groups of thousands`(cents: Int, expected: String) {
        #expect(Money(cents: cents).text == expected)
    }

    @Test func `a sum beyond the limits stops at the limit`() {
        #expect(Money(cents: .max) + Money(cents: 1) == Money(cents: .max))
        #expect(Money(cents: .min) + Money(cents: -1) == Money(cents: .min))
    }

    @Test(arguments: [
        (0, "0 min"), (-5, "0 min"), (1, "1 min"), (60, "1 min"), (61, "2 min"), (3_540, "59 min"), (3_600, "1 h"),
        (3_901, "1 h 6 min"),
    ])
    func `a duration is in minutes, rounded up`(seconds: Int, expected: String) {
        #expect(durationText(seconds: seconds) == expected)
    }

    @Test(arguments: [
        ("2026-11-26 09:30", "Thu 26 November", "09:30"), ("1970-01-01 00:00", "Thu 1 January", "00:00"),
        ("2024-02-29 23:59", "Thu 29 February", "23:59"), ("2000-03-01 12:00", "Wed 1 March", "12:00"),
        ("1900-03-01 12:00", "Thu 1 March", "12:00"),
    ])
    func `a time is shown with its day of the week`(text: String, date: String, time: String) throws {
        let local = try #require(LocalTime(text))
        #expect(local.dateText == date)
        #expect(local.timeText == time)
    }

    @Test(arguments: [
        ("2026-12-31 23:30", 60, "2027-01-01T00:30:00"), ("2024-02-28 12:00", 1_440, "2024-02-29T12:00:00"),
        ("2023-02-28 12:00", 1_440, "2023-03-01T12:00:00"), ("2026-01-01 00:00", -1, "2025-12-31T23:59:00"),
        ("2026-11-26 09:30", 0, "2026-11-26T09:30:00"),
    ])
    func `minutes carry over days, months and years`(text: String, minutes: Int, expected: String) throws {
        #expect(try #require(LocalTime(text)).adding(minutes: minutes).isoText == expected)
    }

    @Test(arguments: ["", "2026-11-26", "2026-13-01 00:00", "2026-11-26 24:00", "2026-11-26 09:3x", "soon"])
    func `a text that is not a time is refused`(text: String) {
        #expect(LocalTime(text) == nil)
    }
}
