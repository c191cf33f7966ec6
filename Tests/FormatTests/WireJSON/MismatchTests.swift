import Testing
import WireJSON

@Suite("JSON of another form is refused with the place and what was expected")
struct MismatchTests {
    typealias Found = WireDecodingError.Issue

    @Test(
        "an intent's faults",
        arguments: [
            ("5", Found(pointer: "", detail: "expected an object, found a number")),
            ("null", Found(pointer: "", detail: "expected an object, found null")),
            (#"["increment"]"#, Found(pointer: "", detail: "expected an object, found an array")),
            (#""increment""#, Found(pointer: "", detail: "expected an object, found a string")),
            ("{}", Found(pointer: "/type", detail: "this member is missing")),
            (#"{"amount":5}"#, Found(pointer: "/type", detail: "this member is missing")),
            (#"{"add":{"amount":5}}"#, Found(pointer: "/type", detail: "this member is missing")),
            (#"{"type":5}"#, Found(pointer: "/type", detail: "expected a string")),
            (#"{"type":null}"#, Found(pointer: "/type", detail: "expected a string")),
            (#"{"type":["add"],"add":{}}"#, Found(pointer: "/type", detail: "expected a string")),
            (#"{"type":"Add"}"#, Found(pointer: "/type", detail: "unknown type \"Add\"", unknownType: "Add")),
            (#"{"type":""}"#, Found(pointer: "/type", detail: "unknown type \"\"", unknownType: "")),
            (
                #"{"type":"x","add":{"amount":5}}"#,
                Found(pointer: "/type", detail: "unknown type \"x\"", unknownType: "x")
            ),
            (#"{"type":"add"}"#, Found(pointer: "/amount", detail: "this member is missing")),
            (#"{"type":"add","amount":"5"}"#, Found(pointer: "/amount", detail: "expected an integer, found a string")),
            (#"{"type":"add","amount":null}"#, Found(pointer: "/amount", detail: "expected an integer, found null")),
            (
                #"{"type":"add","amount":true}"#,
                Found(pointer: "/amount", detail: "expected an integer, found true or false")
            ),
            (#"{"type":"pick"}"#, Found(pointer: "/value", detail: "this member is missing")),
            (#"{"type":"pick","value":{}}"#, Found(pointer: "/value", detail: "expected a string, found an object")),
            (
                #"{"type":"move","value":"east","steps":[]}"#,
                Found(pointer: "/value", detail: "not one of the values allowed")
            ),
            (
                #"{"type":"move","value":"north","steps":["south",7]}"#,
                Found(pointer: "/steps/1", detail: "expected a string, found a number")
            ),
            (
                #"{"type":"nest","value":{"type":"pair","left":1}}"#,
                Found(pointer: "/value/right", detail: "this member is missing")
            ),
            (
                #"{"type":"nest","value":{"type":"huh"}}"#,
                Found(pointer: "/value/type", detail: "unknown type \"huh\"", unknownType: "huh")
            ),
            (#"{"type":"nest","value":{}}"#, Found(pointer: "/value/type", detail: "this member is missing")),
            (
                #"{"type":"wrap","inner":{"type":"pair","left":1,"right":[]}}"#,
                Found(pointer: "/inner/right", detail: "expected a number, found an array")
            ),
        ] as [(String, Found)])
    func intents(text: String, expected: Found) throws {
        #expect(try issue(Intent.self, text) == expected)
    }

    @Test("an unknown type is cut to 64 characters")
    func cutsUnknownTypes() throws {
        let name = String(repeating: "é", count: 100)
        let issue = try issue(Intent.self, "{\"type\":\"\(name)\"}")
        #expect(issue.unknownType == String(repeating: "é", count: 64))
    }

    struct Odd: Codable {
        var member: [String: [Int]]
        enum CodingKeys: String, CodingKey { case member = "a/b~c" }
    }

    @Test("pointers escape what RFC 6901 escapes")
    func escapesPointers() throws {
        #expect(try issue(Odd.self, #"{"a/b~c":{"":[0,"x"]}}"#).pointer == "/a~1b~0c//1")
        #expect(try issue(Odd.self, "{}").pointer == "/a~1b~0c")
    }

    struct Percent: Decodable {
        var value: Int
        struct Wrong: Error {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = try container.decode(Int.self)
            if value > 1000 { throw Wrong() }
            if value > 100 {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "must be at most 100")
            }
            if value < 0 {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "Percent must be positive")
            }
        }
    }

    struct Range: Decodable {
        enum Keys: CodingKey { case low, high }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            let low = try container.decode(Int.self, forKey: .low)
            if try container.decode(Int.self, forKey: .high) < low {
                throw DecodingError.dataCorruptedError(
                    forKey: .high, in: container, debugDescription: "must not be below low")
            }
        }
    }

    @Test("what authors throw becomes a mismatch at its place, without names of types")
    func authorsErrors() throws {
        #expect(try issue([Percent].self, "[1,101]") == Found(pointer: "/1", detail: "must be at most 100"))
        #expect(try issue([Percent].self, "[1,1001]") == Found(pointer: "/1", detail: "not a valid value"))
        #expect(try issue([Percent].self, "[1,-1]") == Found(pointer: "/1", detail: "not a valid value"))
        #expect(
            try issue([String: Range].self, #"{"r":{"low":2,"high":1}}"#)
                == Found(pointer: "/r/high", detail: "must not be below low"))
        #expect(try issue([Int: Int].self, #"{"1":1,"2":"y"}"#).pointer == "/2")
        #expect(try issue([Direction: Int].self, "[\"north\"]").detail.contains("key-value"))
    }

    /// Elements that cannot be decoded are left out, as some authors like it.
    struct Lossy: Decodable {
        var values: [Int] = []
        struct Skipped: Decodable {}
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            while !container.isAtEnd {
                do {
                    values.append(try container.decode(Percent.self).value)
                } catch DecodingError.typeMismatch {
                    _ = try container.decode(Skipped.self)
                } catch is Percent.Wrong {
                    _ = try container.decode(Skipped.self)
                }
            }
        }
    }

    @Test("authors may catch errors, of theirs and the standard ones, and go on")
    func recovers() throws {
        #expect(try decoded(Lossy.self, #"[1,"x",2000,3,{}]"#).values == [1, 3])
        #expect(try issue([Lossy].self, #"[["x"],[5000,101]]"#).pointer == "/1/1")
        #expect(try issue([Lossy].self, "[[null]]").pointer == "/0/0")
    }

    struct Reading: Decodable {
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            _ = try container.decode(Int.self)
            _ = try container.decode(Int.self)
        }
    }

    @Test("an array that is too short is said to end")
    func shortArrays() throws {
        let found = try issue([String: Reading].self, #"{"a":[1]}"#)
        #expect(found == Found(pointer: "/a/1", detail: "expected an element, found the end of the array"))
    }

    @Test("an author's codingPath is the way through the document")
    func codingPaths() throws {
        struct Path: Decodable {
            var text: String
            init(from decoder: any Decoder) throws {
                text = decoder.codingPath.map(\.stringValue).joined(separator: ".")
            }
        }
        let path = try decoded([String: [Path]].self, #"{"x":[],"a":[1,{"b":2}]}"#)["a"]?.last?.text
        #expect(path == "a.1")
    }

    @Test("every error has a description")
    func descriptions() {
        #expect(
            "\(WireDecodingError.malformed(offset: 3, reason: "expected ':'"))"
                == "not valid JSON at byte 3: expected ':'")
        let issues = [Found(pointer: "/a", detail: "x"), Found(pointer: "", detail: "y")]
        #expect("\(WireDecodingError.mismatch(issues))" == "/a: x; y")
    }
}
