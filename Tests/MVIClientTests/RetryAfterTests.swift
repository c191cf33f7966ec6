import Testing

@testable import MVIClient

@Suite("Retry-After")
struct RetryAfterTests {
    @Test(arguments: [
        ("0", 0), ("7", 7), ("86401", 86_400), ("99999999999999999999", 86_400),
        ("Sun, 06 Nov 1994 08:49:40 GMT", 3), ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 86_400),
    ])
    func `is seconds or a date, at most a day`(text: String, seconds: Int) {
        #expect(RetryAfter.parse(text, secondsSince1970: 784_111_777) == .seconds(seconds))
    }

    @Test func `a date is compared with the answer's own, since the device's clock may be wrong`() {
        var fields = ["retry-after": "Thu, 01 Jan 2026 00:00:10 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"]
        // A device a day behind.
        let device = 1_767_225_600.0 - 86_400
        #expect(RetryAfter.delay(in: fields, secondsSince1970: device) == .seconds(10))
        fields["date"] = "yesterday"
        #expect(RetryAfter.delay(in: fields, secondsSince1970: device + 86_400) == .seconds(10))
        fields["date"] = nil
        #expect(RetryAfter.delay(in: fields, secondsSince1970: device + 86_403) == .seconds(7))
        #expect(RetryAfter.delay(in: ["retry-after": "7"], secondsSince1970: device) == .seconds(7))
        #expect(RetryAfter.delay(in: [:], secondsSince1970: device) == nil)
    }

    @Test func `knows leap years`() {
        #expect(RetryAfter.parse("Thu, 29 Feb 2024 00:00:09 GMT", secondsSince1970: 1_709_164_800) == .seconds(9))
        #expect(RetryAfter.parse("Fri, 01 Mar 2024 00:00:09 GMT", secondsSince1970: 1_709_251_200) == .seconds(9))
        #expect(RetryAfter.parse("Fri, 31 Dec 1999 23:59:59 GMT", secondsSince1970: 946_684_790) == .seconds(9))
    }

    @Test(arguments: ["", "soon", "-1", "1.5", "+3", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Now 1994 08:49:37 GMT"])
    func `is none where it cannot be read`(text: String) {
        #expect(RetryAfter.parse(text, secondsSince1970: 0) == nil)
    }
}
