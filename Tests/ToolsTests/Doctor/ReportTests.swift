import Testing

@testable import mvi_tools

@Suite("Doctor's reports")
struct ReportTests {
    @Test(
        "addresses of servers",
        arguments: [
            ("https://MVI.example.com", "https://mvi.example.com"), ("https://a.example:443/", "https://a.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("http://[::1]:80", "http://[::1]"),
            ("https://a.example:8443", "https://a.example:8443"),
        ])
    func addresses(text: String, expected: String) { #expect(ServerAddress(text)?.description == expected) }

    @Test(
        "malformed addresses",
        arguments: [
            "", "mvi.example.com", "ftp://a", "https://", "https://a/b", "https://a?b", "https://u@a", "https://a:0",
            "https://a:x", "https://a:", "https://[::1", "https://a b", "https://a\r\nX: 1", "https://:80",
        ])
    func noAddresses(text: String) { #expect(ServerAddress(text) == nil) }

    private func measured(_ change: (inout Measurements) -> Void) throws -> Measurements {
        var measured = Measurements(try #require(ServerAddress("https://mvi.example.com")))
        measured.http = "2"
        change(&measured)
        return measured
    }

    @Test("only the settings of the detected proxy are shown")
    func settings() throws {
        let report = DoctorReport(
            try measured {
                $0.serverField = "nginx/1.22.1"
                $0.arrival = RequestArrival(http: "1.0")
            })
        #expect(report.isWrong)
        #expect(report.text.contains("nginx: proxy_http_version 1.1;"))
        #expect(!report.text.contains("Apache:"))
        #expect(
            DoctorReport(try measured { $0.arrival = RequestArrival(http: "1.0") }).text.contains("Apache:"))
    }

    @Test("text of another machine cannot write on the terminal")
    func foreignText() throws {
        let report = DoctorReport(
            try measured { $0.tags = TagSample(plain: "\u{1B}[2J\n", compressed: "\u{7}", conditional: 200) })
        #expect(report.text.utf8.allSatisfy { $0 == 0x0A || 0x20...0x7E ~= $0 })
    }

    @Test("the JSON has each finding, and counts those that are wrong")
    func json() throws {
        let text = String(
            decoding: DoctorReport(try measured { $0.arrival = RequestArrival(http: "1.0") }).json, as: UTF8.self)
        #expect(
            text.hasPrefix(#"{"url":"https://mvi.example.com","wrong":1,"warnings":0,"findings":[{"check":"health""#))
        #expect(text.contains(#""settings":{"apache":"no force-proxy-request-1.0","nginx":"proxy_http"#))
    }

    @Test(
        "dates of HTTP",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
        ] as [(String, Int)])
    func dates(text: String, seconds: Int) { #expect(HTTPDate.seconds(of: text) == seconds) }

    @Test(
        "malformed dates",
        arguments: ["", "now", "Thu, 32 Jan 1970 00:00:00 GMT", "a b c d e GMT", "1 2 Jan 1970 x GMT"])
    func noDates(text: String) { #expect(HTTPDate.seconds(of: text) == nil) }
}
