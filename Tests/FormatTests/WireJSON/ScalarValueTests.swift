import Foundation
import MVI
import Testing

@testable import WireJSON

@Suite("Decimals, durations, dates, URLs and UUIDs")
struct ScalarValueTests {
    private func text(_ value: some Encodable) throws -> String {
        String(decoding: try WireJSON.encode(value), as: UTF8.self)
    }

    private func read<T: Decodable>(_ type: T.Type, _ text: String) throws -> T {
        try WireJSON.decode(type, from: Array(text.utf8))
    }

    @Test(arguments: [
        "0", "-1", "0.1", "19.99", "1.1", "-0.000000000000000000000000000000000001",
        "340282366920938463463374607431768211455",
        "12345678901234567890123456789012345678", "123456789012345678901234567890.12345678", "9007199254740993.01",
    ])
    func `a decimal is a number that keeps its digits`(digits: String) throws {
        let value = try #require(Decimal(string: digits))
        #expect(try text([value]) == "[\(digits)]")
        #expect(try read([Decimal].self, "[\(digits)]") == [value])
        #expect(try text(["a": value]) == #"{"a":\#(digits)}"#)
    }

    @Test(arguments: [
        ("1.50", "1.5"), ("1e2", "100"), ("-0", "0"), ("25E-1", "2.5"), ("1E+3", "1000"),
        ("1.00000000000000000000000000000000000000000000000", "1"),
        ("1e127", "1" + String(repeating: "0", count: 127)),
    ])
    func `a decimal is written without an exponent and without zeros at its end`(sent: String, written: String) throws {
        #expect(try text([try read(Decimal.self, sent)]) == "[\(written)]")
    }

    @Test(arguments: [
        "0.1234567890123456789012345678901234567890123", "3402823669209384634633746074317682114561", "1e300", "1e-300",
        "1e99999999999999999999",
    ])
    func `a decimal that would lose digits is refused`(text: String) {
        #expect(throws: mismatch("/price", "expected a number with at most 38 digits")) {
            try read([String: Decimal].self, #"{"price":\#(text)}"#)
        }
    }

    @Test func `a decimal without a value is not written`() {
        #expect(throws: WireEncodingError(pointer: "/0", detail: ValueEncoder.notFinite)) {
            try WireJSON.encode([Decimal.nan])
        }
    }

    @Test(arguments: [
        (Duration.zero, "0"), (.seconds(90), "90"), (.milliseconds(1_500), "1.5"), (.milliseconds(-250), "-0.25"),
        (.seconds(-3) - .nanoseconds(1), "-3.000000001"), (.seconds(Int64.max), "9223372036854775807"),
        (.seconds(Int64.min), "-9223372036854775808"),
        (Duration(secondsComponent: 0, attosecondsComponent: 1), "0.000000000000000001"),
        (Duration(secondsComponent: 1, attosecondsComponent: 100), "1.0000000000000001"),
    ])
    func `a duration is an exact number of seconds`(value: Duration, seconds: String) throws {
        #expect(try text([value]) == "[\(seconds)]")
        #expect(try read([Duration].self, "[\(seconds)]") == [value])
    }

    @Test func `a duration is read in any form of a number`() throws {
        #expect(
            try read([Duration].self, "[1e3,1.50,25e-1,-0]") == [.seconds(1_000), .seconds(1.5), .seconds(2.5), .zero])
    }

    @Test(arguments: ["0.0000000000000000001", "9223372036854775808", "1e19", "-1e40", "1e99999999999999999999"])
    func `a duration that would lose digits is refused`(text: String) {
        #expect(throws: mismatch("/0", "expected seconds with at most 18 decimal places")) {
            try read([Duration].self, "[\(text)]")
        }
    }

    @Test func `a duration beyond all numbers of seconds is not written`() {
        #expect(throws: WireEncodingError.self) { try WireJSON.encode([Duration.seconds(Int64.max) + .seconds(1)]) }
    }

    @Test(arguments: [
        "https://example.com/", "https://EXAMPLE.com/a%20b?q=1&r=%C3%A4#f", "mailto:ann@example.com", "/images/1.png",
        "https://example.com/a/../b", "HTTP://example.com:80",
    ])
    func `a URL is its text`(address: String) throws {
        let url = try #require(URL(string: address))
        #expect(try text([url]) == #"["\#(address)"]"#)
        #expect(try read([URL].self, #"["\#(address)"]"#) == [url])
    }

    @Test(arguments: ["", "https://exa mple.com/", "https://example.com/ä", "https://example.com/%zz"])
    func `a text that would become another URL is refused`(text: String) {
        #expect(throws: mismatch("/0", "expected a URL")) { try read([URL].self, #"["\#(text)"]"#) }
    }

    @Test func `a URL with a base is written whole`() throws {
        let base = try #require(URL(string: "https://example.com/a/"))
        #expect(try text([try #require(URL(string: "../b", relativeTo: base))]) == #"["https://example.com/b"]"#)
    }

    @Test(arguments: [
        "0000-01-01T00:00:00.000Z", "1500-03-01T12:00:00.001Z", "1969-12-31T23:59:59.999Z", "2026-01-31T23:59:59.251Z",
        "9999-12-31T23:59:59.999Z",
    ])
    func `a date is the text of the same timestamp`(time: String) throws {
        let date = try read(Date.self, "\"\(time)\"")
        let timestamp = try #require(Timestamp(time))
        #expect(abs(date.timeIntervalSince1970 - timestamp.sinceEpoch / .seconds(1)) < 0.000_1)
        #expect(try text([date]) == "[\"\(time)\"]")
    }

    @Test func `a date is read with any offset, and only if its year has a text`() throws {
        let date = try read(Date.self, #""2026-01-31T23:59:59.5+02:00""#)
        #expect(try text(date) == #""2026-01-31T21:59:59.500Z""#)
        for text in ["2026-02-30T00:00:00Z", "tomorrow", "9999-12-31T23:59:59-00:01"] {
            #expect(throws: mismatch("", "a time is written as 2026-01-31T23:59:59Z")) {
                try read(Date.self, "\"\(text)\"")
            }
        }
        #expect(throws: mismatch("", "expected a string, found a number")) { try read(Date.self, "1770000000") }
        for date in [
            Date.distantPast - 1e11, Date(timeIntervalSince1970: 253_402_300_800), Date(timeIntervalSince1970: .nan),
        ] {
            #expect(throws: WireEncodingError.self) { try WireJSON.encode([date]) }
        }
    }

    @Test func `a UUID is written in lower case and read in any`() throws {
        let id = UUID()
        #expect(try text([id]) == #"["\#(id.uuidString.lowercased())"]"#)
        for text in [id.uuidString, id.uuidString.lowercased()] {
            #expect(try read([UUID?].self, #"["\#(text)",null]"#) == [id, nil])
        }
        #expect(throws: mismatch("/0", "expected a UUID")) { try read([UUID].self, #"["1"]"#) }
    }

    @Test func `data is text in Base64`() throws {
        #expect(try text([Data([0, 255, 16]), Data()]) == #"["AP8Q",""]"#)
        #expect(try read([Data].self, #"["AP8Q",""]"#) == [Data([0, 255, 16]), Data()])
        #expect(throws: mismatch("/0", "expected Base64")) { try read([Data].self, #"["?"]"#) }
        #expect(throws: mismatch("", "expected a string, found an array")) { try read(Data.self, "[1]") }
        #expect(try WireJSON.decode(Data.self, from: Array("[1,2]".utf8), filling: nil) == Data([1, 2]))
    }

    private enum Size: String, Codable { case small, large = "very \"large\"" }
    private enum Step: Int, Codable { case first = 1 }
    private struct Keyed: Codable, Equatable {
        var sizes: [Size: Int]
        var ids: [UUID: [Size: Data?]]
        var steps: [Step: Bool]
    }

    @Test func `dictionaries whose keys are texts are objects`() throws {
        let id = try #require(UUID(uuidString: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"))
        let value = Keyed(
            sizes: [.small: 1, .large: 2], ids: [id: [.small: Data([1]), .large: nil]], steps: [.first: true])
        let json = """
            {"sizes":{"small":1,"very \\"large\\"":2},\
            "ids":{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6":{"small":"AQ==","very \\"large\\"":null}},"steps":[1,true]}
            """
        #expect(try text(value) == json)
        #expect(try read(Keyed.self, json) == value)
        let empty = #"{"sizes":{},"ids":{},"steps":[]}"#
        #expect(try text(Keyed(sizes: [:], ids: [:], steps: [:])) == empty)
        #expect(try read(Keyed.self, empty) == Keyed(sizes: [:], ids: [:], steps: [:]))
        let (stored, lost) = try WireJSON.decodeStored(Keyed.self, from: Array(json.utf8), filling: Array(empty.utf8))
        #expect(stored == value && lost.isEmpty)
        // Arrays of earlier versions.
        #expect(try read([Size: Int].self, #"["small",1]"#) == [.small: 1])
        #expect(throws: WireDecodingError.self) { try read([Size: Int].self, #"{"huge":1}"#) }
    }

    private struct All: Codable, Equatable {
        var price: Decimal
        var pause: Duration
        var link: URL?
        var start: Date
        var prices: [String: Decimal]
        var pauses: Set<Duration>
    }

    private let all = All(
        price: 0.1, pause: .milliseconds(1_500), link: URL(string: "https://example.com/"),
        start: Date(timeIntervalSince1970: 1_769_903_999.25), prices: ["a": 1.1], pauses: [.seconds(2), .seconds(1)])

    @Test func `they are members, elements and values like others, and come back from storage`() throws {
        let json = try text(all)
        #expect(
            json == """
                {"price":0.1,"pause":1.5,"link":"https://example.com/","start":"2026-01-31T23:59:59.250Z",\
                "prices":{"a":1.1},"pauses":[1,2]}
                """)
        #expect(try read(All.self, json) == all)
        let (stored, lost) = try WireJSON.decodeStored(All.self, from: Array(json.utf8), filling: Array(json.utf8))
        #expect(stored == all && lost.isEmpty)
    }

    @Test func `what an earlier version stored of them is read`() throws {
        let json = """
            {"price":{"exponent":-1,"length":1,"isNegative":false,"isCompact":true,"mantissa":[1,0,0,0,0,0,0,0]},\
            "pause":[0,1500000000000000000],"link":{"relative":"https://example.com/"},"start":791596799.25,\
            "prices":{"a":{"exponent":-1,"length":1,"isNegative":false,"isCompact":true,"mantissa":[11,0,0,0,0,0,0,0]}},\
            "pauses":[[0,2000000000000000000],[0,1000000000000000000]]}
            """
        let (stored, lost) = try WireJSON.decodeStored(All.self, from: Array(json.utf8), filling: Array("{}".utf8))
        #expect(stored == all && lost.isEmpty)
        #expect(try WireJSON.decode(All.self, from: Array(json.utf8), filling: nil) == all)
    }

    private func mismatch(_ pointer: String, _ detail: String) -> WireDecodingError {
        .mismatch([.init(pointer: pointer, detail: detail)])
    }
}
