import Testing
import WireJSON

/// Takes every JSON text and makes nothing of it.
private struct Anything: Decodable {}

@Suite("The syntax of RFC 8259")
struct SyntaxTests {
    static let accepted: [String] = [
        "null", "true", "false", "0", "-0", "1", "-1", "10", "1.5", "0.0", "-0.0", "1e1", "1E1", "1e+1", "1e-1", "0e0",
        "0E+0", "1.25e-3", "123456789012345678901234567890", "1e400", "1e-400", "\"\"", "\"a\"", "[]", "{}", "[[]]",
        "[{}]", "{\"a\":{}}", "[1,2]", "[1,[2,[3]]]", "{\"\":0}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"A\":1}",
        " \t\r\n1 \t\r\n", "[ 1 , 2 ]", "{ \"a\" : 1 , \"b\" : 2 }", "[\n]", "{\t}", "[ ]",
        #""\"\\\/\b\f\n\r\t\u0000\uFFFF\uabCD""#, #""\ud834\udd1e""#, #""\uD834\uDD1E""#, #""\u0022""#,
        "\"\u{7F}\"", "\"é\"", "\"\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"", "\"\u{2028}\u{2029}\u{FEFF}\"",
        "{\"é\":1,\"e\u{301}\":2}", "[\"//\"]", "[true,false,null]",
    ]

    @Test("accepts every form of value", arguments: accepted)
    func accepts(text: String) throws {
        _ = try decoded(Anything.self, text)
    }

    static let rejected: [(String, offset: Int)] = [
        ("", 0), (" ", 1), ("nul", 0), ("nulll", 4), ("True", 0), ("NaN", 0), ("Infinity", 0), ("undefined", 0),
        ("'a'", 0), ("a", 0), ("1 2", 2), ("[] []", 3), ("1,", 1), (",", 0), ("]", 0), ("}", 0), (":", 0),
        ("+1", 0), ("-", 1), ("--1", 1), ("01", 1), ("-01", 2), ("00", 1), ("1.", 2), (".5", 0), ("1.e1", 2),
        ("1e", 2), ("1e+", 3), ("1e1.5", 3), ("0x10", 1), ("1_000", 1), ("1.5.5", 3), ("-Infinity", 1), ("1e1e1", 3),
        ("[", 1), ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[1,,2]", 3), ("[1 2]", 3), ("[1}", 2),
        ("{", 1), ("{\"a\"", 4), ("{\"a\":", 5), ("{\"a\":1", 6), ("{\"a\":1,", 7), ("{\"a\":1,}", 7), ("{,}", 1),
        ("{a:1}", 1), ("{1:1}", 1), ("{'a':1}", 1), ("{\"a\" 1}", 5), ("{\"a\"::1}", 5), ("{\"a\":1 \"b\":2}", 7),
        ("{\"a\":1]", 6), ("{\"a\":}", 5), ("{\"a\",1}", 4), ("[\"a\":1]", 4), ("{[]:1}", 1),
        ("\"", 1), ("\"a", 2), ("\"\\", 2), ("\"\\\"", 3), ("\"\\x\"", 1), ("\"\\u12\"", 1), ("\"\\u123g\"", 1),
        ("\"\\U0041\"", 1), ("\"\\u\"", 1), ("\"\t\"", 1), ("\"\n\"", 1), ("\"\u{0}\"", 1), ("\"\u{1F}\"", 1),
        (#""\ud800""#, 1), (#""\udc00""#, 1), (#""\ud800\ud800""#, 1), (#""\ud800\n""#, 1), (#""\ud800x""#, 1),
        (#""a\ud834"#, 2), (#""\ud834\u""#, 7),
        ("\u{FEFF}1", 0), ("\u{A0}1", 0), ("[1]\u{0}", 3), ("\u{0}", 0), ("/* */1", 0), ("1 // x", 2), ("\u{B}1", 0),
        (#"{"a":1,"a":2}"#, 7), (#"{"a":1,"\u0061":2}"#, 7), (#"[{"b":{},"a":[],"b":0}]"#, 16),
        (#"{"é":1,"\u00e9":2}"#, 8),
    ]

    @Test("rejects everything else, and says where", arguments: rejected)
    func rejects(text: String, offset: Int) {
        do throws(WireDecodingError) {
            _ = try decoded(Anything.self, text)
            Issue.record("accepted \(text)")
        } catch {
            guard case .malformed(let found, let reason) = error else {
                Issue.record("\(text): \(error)")
                return
            }
            #expect(found == offset, "\(text): \(reason)")
            #expect(!reason.isEmpty)
        }
    }

    static let notUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
        [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x28, 0x8C, 0xBC],
        [0xF0, 0x9F, 0x28, 0x80], [0xF0, 0x9F, 0x98, 0x28], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
        [0xFE], [0xFF],
    ]

    @Test("rejects what is not UTF-8, in values, in names, and where the text ends", arguments: notUTF8)
    func rejectsOtherEncodings(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        for text in [
            [quote] + bytes + [quote], [quote] + bytes, bytes,
            [UInt8(ascii: "{"), quote] + bytes + [quote] + Array(":1}".utf8),
        ] {
            #expect(throws: WireDecodingError.self) { try WireJSON.decode(Anything.self, from: text) }
        }
    }

    @Test("UTF-16 and UTF-32 are not taken")
    func rejectsWideEncodings() {
        for text: [UInt8] in [[0x31, 0], [0, 0x31], [0xFF, 0xFE, 0x31, 0], [0x31, 0, 0, 0]] {
            #expect(throws: WireDecodingError.self) { try WireJSON.decode(Anything.self, from: text) }
        }
    }

    @Test("depth is bounded, and any depth is refused without harm")
    func boundsDepth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try decoded(Anything.self, nested(128))
        #expect(throws: WireDecodingError.malformed(offset: 128, reason: "nested deeper than 128 levels")) {
            try decoded(Anything.self, nested(129))
        }
        #expect(throws: WireDecodingError.malformed(offset: 2, reason: "nested deeper than 2 levels")) {
            try decoded(Anything.self, #"[[{"a":1}]]"#, limits: WireLimits(maximumDepth: 2))
        }
        let objects = String(repeating: #"{"a":"#, count: 100_000)
        #expect(throws: WireDecodingError.self) { try decoded(Anything.self, objects) }
        #expect(WireLimits(maximumDepth: 100_000).maximumDepth == 512)
        _ = try decoded(Anything.self, nested(512), limits: WireLimits(maximumDepth: 512))
    }

    @Test("a name that occurs twice is found at each place, however it is written", arguments: 2...10)
    func findsDuplicatesAmongFew(count: Int) throws {
        // Of the same length and with the same last letter; and of other lengths and letters.
        let alike = (0..<count).map { "n\($0 * 7)".padding(to: 4) + "x" }
        let unlike = (0..<count).map { String(repeating: "a", count: $0) }
        for names in [alike, unlike, (alike + unlike).suffix(count)] {
            func text(_ names: [String]) -> String { "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
            #expect(throws: Never.self) { try decoded(Anything.self, text(names)) }
            for (first, second) in [(0, count - 1), (count - 2, count - 1), (count / 3, count / 2 + 1)]
            where first != second && second < count {
                var twice = names
                twice[second] = names[first]
                #expect(throws: WireDecodingError.self) { try decoded(Anything.self, text(twice)) }
                guard let letter = names[first].utf8.first else { continue }
                let escaped = "\\u00" + String(letter, radix: 16) + names[first].dropFirst()
                twice[second] = escaped
                #expect(throws: WireDecodingError.self) { try decoded(Anything.self, text(twice)) }
                (twice[first], twice[second]) = (escaped, names[first])
                #expect(throws: WireDecodingError.self) { try decoded(Anything.self, text(twice)) }
                (twice[first], twice[second]) = (escaped, names[second])
                #expect(throws: Never.self) { try decoded(Anything.self, text(twice)) }
            }
        }
    }

    @Test("names that occur twice are found among many")
    func findsDuplicatesAmongMany() {
        let names = (0..<1000).map { "\"name\($0)\":0" }
        #expect(throws: Never.self) { try decoded(Anything.self, "{\(names.joined(separator: ","))}") }
        let again = (names + [#""n\u0061me500":1"#]).joined(separator: ",")
        #expect(
            throws: WireDecodingError.malformed(
                offset: again.utf8.count - 15, reason: "a duplicate member name")
        ) {
            try decoded(Anything.self, "{\(again)}")
        }
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: "_", count: max(count - self.count, 0))
    }
}
