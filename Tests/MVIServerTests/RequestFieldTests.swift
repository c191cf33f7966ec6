import MVI
import MicroHTTP
import Testing

@testable import MVIServer

@Suite("Header fields and queries")
struct RequestFieldTests {
    private func prefer(_ values: String...) -> Preferences {
        Preferences(HeaderFields(values.map { (name: "Prefer", value: $0) }))
    }

    @Test("Prefer is read as RFC 7240 writes it")
    func preferences() {
        #expect(prefer("respond-async, wait=10").respondAsync)
        #expect(prefer("respond-async, wait=10").wait == 10)
        #expect(prefer("return=minimal", "wait=3") == prefer("Return = \"minimal\" ; foo=\"a,b\" , WAIT=3"))
        #expect(prefer("wait=1, wait=2").wait == 1)
        #expect(prefer("return=minimal, return=representation").return == .minimal)
        #expect(prefer("problem").problem)
        #expect(prefer("wait=99999999999999999999").wait == .max)
    }

    @Test(
        "malformed preferences are ignored", arguments: ["wait=-1", "wait=abc", "wait", "return=all", "", ",,;=", "\""])
    func badPreferences(value: String) {
        #expect(prefer(value) == Preferences())
        #expect(prefer("\(value), respond-async").respondAsync || value == "\"")
    }

    @Test("answers take the form of the table in the contract")
    func forms() {
        func form(_ value: String, settled: Bool = true, granted: Bool = true) -> [String?] {
            let form = AnswerForm(prefer(value), isSettled: settled, isWaitGranted: granted, cap: 10)
            return ["\(form.status)", form.applied]
        }
        #expect(form("") == ["202", nil])
        #expect(form("respond-async") == ["202", "respond-async"])
        #expect(form("return=minimal") == ["204", "return=minimal"])
        #expect(form("return=minimal", settled: false) == ["204", "return=minimal"])
        #expect(form("return=representation", settled: false) == ["200", "return=representation"])
        #expect(form("wait=5") == ["200", "wait=5"])
        #expect(form("wait=60") == ["200", "wait=10"])
        #expect(form("wait=5", settled: false) == ["202", "wait=5"])
        #expect(form("wait=5", settled: false, granted: false) == ["202", nil])
        #expect(form("wait=5, return=representation") == ["200", "return=representation, wait=5"])
        #expect(form("wait=5, return=minimal") == ["204", "return=minimal, wait=5"])
        #expect(form("wait=5, return=minimal", settled: false) == ["202", "wait=5"])
    }

    @Test("entity tags are read as RFC 9110 writes them")
    func tags() {
        #expect(EntityTags("*") == .any)
        #expect(
            EntityTags(#""a", W/"b" ,, "c\d""#)
                == .list([
                    tag("a"), tag("b", isWeak: true),
                    tag(#"c\d"#),
                ]))
        for bad in ["", "a", "\"a", "\"a\" \"b\"", "W/a", "w/\"a\"", "*, \"a\"", "\"a b\"", "\"a\"x"] {
            #expect(EntityTags(bad) == nil, "\(bad)")
        }
    }

    @Test("weak tags match for If-None-Match and never for If-Match")
    func comparison() throws {
        let tags = try #require(EntityTags(#"W/"a", "b""#))
        #expect(tags.matchesWeakly("a") && tags.matchesWeakly("b") && !tags.matchesWeakly("c"))
    }

    @Test("If-Match names versions of one log")
    func versions() throws {
        let tags = try #require(EntityTags(#"W/"e.1", "e.3", "e.5-ab", "e.07", "f.8""#))
        let found = (1...9).filter { tags.nameStrongly(anyOf: $0...$0, in: "e") }
        #expect(found == [3, 5])
        #expect(tags.nameStrongly(anyOf: 4...6, in: "e") && !tags.nameStrongly(anyOf: 6...9, in: "e"))
        #expect(try #require(EntityTags("*")).nameStrongly(anyOf: 1...1, in: "e"))
    }

    @Test(
        "an idempotency key is a quoted string, or bare",
        arguments: [
            ("\"a b\"", "a b"), ("abc-1", "abc-1"), (#""a\"b\\""#, #"a"b\"#), ("\"k\";p=1", "k"),
        ])
    func keys(value: String, key: String) throws {
        #expect(try IdempotencyKey.read(HeaderFields([("Idempotency-Key", value)])) == key)
    }

    @Test(
        "openapi.yaml's pattern of an idempotency key is that of the server",
        arguments: [
            "\"a b\"", "abc-1", #""a\"b\\""#, "\"k\";p=1", "a\\b", "a;b", "'", "~", "\"", "\"\"", "\"a", "a\"", "a b",
            #""a\b""#, "\"a\"b", "ä", "\"ä\"", "a\tb", String(repeating: "a", count: 255),
            String(repeating: "a", count: 256), "\"\(String(repeating: "a", count: 255))\"",
            "\"\(String(repeating: "a", count: 256))\"", "\"\(String(repeating: #"\""#, count: 255))\"",
        ])
    func keyPattern(value: String) throws {
        let parameters = try OpenAPIFile().root["components"]?["parameters"]
        let text = try #require(parameters?["IdempotencyKey"]?["schema"]?["pattern"]?.string)
        let key = try? IdempotencyKey.read(HeaderFields([("Idempotency-Key", value)]))
        #expect((try Regex(text).wholeMatch(in: value) != nil) == (key != nil))
    }

    @Test("Accept lets event streams pass, or not")
    func accept() {
        func accepts(_ values: String...) -> Bool {
            MediaTypes.accepts(
                type: "text", subtype: "event-stream", HeaderFields(values.map { (name: "Accept", value: $0) }))
        }
        #expect(accepts())
        #expect(accepts(""))
        #expect(accepts("*/*") && accepts("text/*") && accepts("Text/Event-Stream;q=0.1"))
        #expect(accepts("application/json", "text/event-stream"))
        #expect(!accepts("application/json"))
        #expect(!accepts("text/event-stream;q=0, */*"))
        #expect(!accepts("text/*; q=0.000"))
    }

    @Test("a JSON body's media type may have parameters")
    func mediaType() {
        for good in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=latin1"] {
            #expect(throws: Never.self) { try MediaTypes.checkJSON(HeaderFields([("Content-Type", good)])) }
        }
        for bad in ["application/json-seq", "text/json", "application/problem+json", ""] {
            #expect(throws: Problem.self) { try MediaTypes.checkJSON(HeaderFields([("Content-Type", bad)])) }
        }
    }

    @Test("a cookie ends at a semicolon, not at a canonically equivalent character")
    func cookies() {
        let policy = CookiePolicy(isSecure: false, sessionLife: .seconds(60), credentialLife: .seconds(60))
        func value(_ text: String) -> Substring? { policy.value(HeaderFields([("Cookie", text)])) }
        #expect(value("a=b; mvi_session=c") == "c")
        #expect(value("a=b;mvi_session=c=;d=e") == "c=")
        // The Greek question mark is canonically equivalent to the semicolon.
        #expect(value("a=b\u{37E} mvi_session=forged") == nil)
        #expect(value("mvi_session=c\u{37E}")?.utf8.elementsEqual("c\u{37E}".utf8) == true)
    }

    @Test(
        "the cookie's name has the port of Host, if it is not the default",
        arguments: [
            ("localhost", nil), ("localhost:80", nil), ("a.example:443", nil), ("localhost:8080", 8_080),
            ("localhost:08080", 8_080), ("[::1]:9000", 9_000), ("[::1]", nil), ("a:65536", nil), ("a:", nil),
            ("a:0", nil),
        ] as [(String, Int?)])
    func cookieName(host: String, port: Int?) {
        let fields = HeaderFields([("Host", host)])
        var settings = ServerSettings()
        #expect(
            CookiePolicy(settings, hasNodes: false).name(for: fields) == "mvi_session" + (port.map { "_\($0)" } ?? ""))
        // A proxy may give each of several nodes another port.
        #expect(CookiePolicy(settings, hasNodes: true).name(for: fields) == "mvi_session")
        // What a server set before it became a node is read once more.
        let former = HeaderFields([("Host", host), ("Cookie", "mvi_session_8080=former")])
        #expect(CookiePolicy(settings, hasNodes: true).value(former) == (port == 8_080 ? "former" : nil))
        for (address, name) in [
            ("https://a.example:8443", "__Host-mvi_session_8443"), ("https://a.example", "__Host-mvi_session"),
            ("http://[::1]:8081", "mvi_session_8081"), ("http://[::1]", "mvi_session"),
        ] {
            settings.publicURL = Origin(setting: address)
            for hasNodes in [false, true] {
                #expect(CookiePolicy(settings, hasNodes: hasNodes).name(for: fields) == name)
            }
        }
    }

    @Test("queries are read as forms write them")
    func query() {
        let items = QueryItems(Array("feature=a&feature=b%3A7&x&feature=%zz&last_event_id=a+b&=1".utf8))
        #expect(items.values("feature") == ["a", "b:7", nil])
        #expect(items.values("x") == [nil])
        #expect(items.values("last_event_id") == ["a b"])
        #expect(QueryItems(nil).values("feature").isEmpty)
    }

    @Test("malformed percent-encoding, and other bytes than UTF-8, decode to nil")
    func percentEncoding() {
        #expect(PercentEncoding.decode("a%2Db%C3%A4".utf8) == "a-bä")
        for bad in ["%", "%2", "%2g", "%ff", "%C3"] { #expect(PercentEncoding.decode(bad.utf8) == nil, "\(bad)") }
        #expect(PercentEncoding.reference(Array("/a b\"\n".utf8)) == "/a%20b%22%0A")
    }

    @Test(
        "a path becomes a valid URI reference wherever it is cut, with invalid characters escaped",
        arguments: [
            ("/100%", "/100%25"), ("/%zz%4", "/%25zz%254"), ("/%e4%0A", "/%e4%0A"), ("/[a]#{b}", "/%5Ba%5D%23%7Bb%7D"),
            ("//host:x/y", "/%2Fhost:x/y"), ("/", "/"), ("*", "*"), ("", ""),
            ("/" + String(repeating: "a", count: 300), "/" + String(repeating: "a", count: 255)),
            ("/" + String(repeating: "a", count: 252) + "%CC%BA", "/" + String(repeating: "a", count: 252) + "%CC"),
            ("/" + String(repeating: "a", count: 253) + "%CC%BA", "/" + String(repeating: "a", count: 253)),
            ("/" + String(repeating: "a", count: 254) + "%CC", "/" + String(repeating: "a", count: 254)),
        ])
    func references(path: String, reference: String) {
        #expect(PercentEncoding.reference(Array(path.utf8)) == reference)
    }

    @Test("times are RFC 3339 in UTC")
    func timestamps() {
        #expect(Timestamp(sinceEpoch: .zero).wholeSeconds == "1970-01-01T00:00:00Z")
        #expect(Timestamp(sinceEpoch: .milliseconds(1_709_164_799_999)).wholeSeconds == "2024-02-28T23:59:59Z")
        #expect(Timestamp(sinceEpoch: .seconds(1_709_164_800)).wholeSeconds == "2024-02-29T00:00:00Z")
        #expect(Timestamp(sinceEpoch: .seconds(1_798_761_599)).wholeSeconds == "2026-12-31T23:59:59Z")
        #expect(Timestamp(sinceEpoch: .seconds(4_107_542_400)).wholeSeconds == "2100-03-01T00:00:00Z")
    }

    @Test(
        "a body has one media type in one field",
        arguments: [
            [("Content-Type", "app lication/json")], [("Content-Type", "application /json")],
            [("Content-Type", "application/json"), ("Content-Type", "text/plain")],
            [
                ("Content-Type", "application/json"), ("Content-Encoding", "identity"), ("Content-Encoding", "gzip"),
            ],
        ])
    func otherTypes(fields: [(name: String, value: String)]) {
        #expect(throws: Problem.self) { try MediaTypes.checkJSON(HeaderFields(fields)) }
    }

    @Test("a missing, an empty and an identity coding are equal", arguments: ["", "identity", "Identity"])
    func noCoding(value: String) throws {
        try MediaTypes.checkJSON(
            HeaderFields([("Content-Type", "application/json"), ("Content-Encoding", value)]))
    }

    @Test(
        "blanks around a body's type are ignored", arguments: ["application/json ;charset=utf-8", "Application/JSON"])
    func sameType(value: String) throws {
        try MediaTypes.checkJSON(HeaderFields([("Content-Type", value)]))
    }

    private func tag(_ text: String, isWeak: Bool = false) -> EntityTags.Tag {
        EntityTags.Tag(isWeak: isWeak, opaque: ArraySlice(text.utf8))
    }
}
