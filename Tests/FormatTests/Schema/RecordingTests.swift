import Foundation
import MVI
import Testing
import WireJSON

@testable import Schema

@Suite("The schema of a type")
struct RecordingTests {
    private struct Plain: Codable {
        var flag: Bool
        var count: Int
        var small: UInt8
        var ratio: Double
        var text: String
        var list: [String]
        var holes: [Int?]
        var counts: [String: Int]
        var numbered: [Int: Bool]
        var tags: Set<String>
        var maybe: String?
        var maybeList: [Int]?
    }

    @Test func `a struct has a property for each member, and optional ones may be absent`() {
        #expect(
            schema(Plain.self) == """
                State {"type":"object","properties":{"flag":{"type":"boolean"},\
                "count":{"type":"integer","format":"int64"},\
                "small":{"type":"integer","minimum":0,"maximum":255},"ratio":{"type":"number"},\
                "text":{"type":"string"},"list":{"type":"array","items":{"type":"string"}},\
                "holes":{"type":"array","items":{"type":["integer","null"],"format":"int64"}},\
                "counts":{"type":"object","additionalProperties":{"type":"integer","format":"int64"}},\
                "numbered":{"type":"object","additionalProperties":{"type":"boolean"}},\
                "tags":{"type":"array","items":{"type":"string"}},"maybe":{"type":"string"},\
                "maybeList":{"type":"array","items":{"type":"integer","format":"int64"}}},\
                "required":["flag","count","small","ratio","text","list","holes","counts","numbered","tags"]}
                """)
    }

    private enum Intent: Codable {
        enum Level: String, Codable { case low, high = "very-high" }

        case load
        case set(name: String?, level: Level)
        case loaded(Int)
        case last
    }

    @Test func `an enum has an object for each case, and an intent's optional values may be null`() {
        #expect(
            intentSchema(Intent.self) == """
                Intent {"oneOf":[{"type":"object","properties":{"type":{"const":"load"}},"required":["type"]},\
                {"type":"object","properties":{"type":{"const":"set"},"name":{"type":["string","null"]},\
                "level":{"$ref":"#/$defs/Level"}},"required":["type","level"]},\
                {"type":"object","properties":{"type":{"const":"loaded"},\
                "value":{"type":"integer","format":"int64"}},"required":["type","value"]},\
                {"type":"object","properties":{"type":{"const":"last"}},"required":["type"]}]}
                Level {"type":"string","enum":["low","very-high"]}
                """)
    }

    private enum Number: Int, Codable { case one = 1, seven = 7, minusTwo = -2 }
    private enum Only: String, Codable { case single }
    private struct Choices: Codable {
        var number: Number
        var only: Only
        var maybe: Number?
    }

    @Test func `enums with raw values list them, without CaseIterable too`() {
        #expect(
            schema(Choices.self) == """
                State {"type":"object","properties":{"number":{"$ref":"#/$defs/Number"},\
                "only":{"$ref":"#/$defs/Only"},"maybe":{"$ref":"#/$defs/Number"}},"required":["number","only"]}
                Number {"type":"integer","enum":[1,7,-2]}
                Only {"type":"string","enum":["single"]}
                """)
    }

    private struct Node: Codable {
        var name: String
        var children: [Node]
    }

    private indirect enum Tree: Codable {
        case fork(left: Tree, right: Tree)
        case leaf(value: Int)
    }

    @Test func `types that hold themselves refer to themselves`() {
        #expect(
            schema(Node.self) == """
                State {"type":"object","properties":{"name":{"type":"string"},\
                "children":{"type":"array","items":{"$ref":"#/$defs/State"}}},"required":["name","children"]}
                """)
        #expect(
            schema(Tree.self) == """
                State {"oneOf":[{"type":"object","properties":{"type":{"const":"fork"},\
                "left":{"$ref":"#/$defs/State"},"right":{"$ref":"#/$defs/State"}},"required":["type","left","right"]},\
                {"type":"object","properties":{"type":{"const":"leaf"},\
                "value":{"type":"integer","format":"int64"}},"required":["type","value"]}]}
                """)
    }

    private struct Foreign: Codable {
        var time: Timestamp
        var id: UUID
        var date: Date
        var url: URL
        var price: Decimal
        var pause: Duration?
        var prices: [Decimal?]
    }

    @Test func `times, identifiers, dates, URLs, decimals and durations are texts and numbers`() {
        #expect(
            schema(Foreign.self) == """
                State {"type":"object","properties":{"time":{"type":"string","format":"date-time"},\
                "id":{"type":"string","format":"uuid"},"date":{"type":"string","format":"date-time"},\
                "url":{"type":"string","format":"uri"},"price":{"type":"number","format":"decimal"},\
                "pause":{"type":"number","description":"seconds"},\
                "prices":{"type":"array","items":{"type":["number","null"],"format":"decimal"}}},\
                "required":["time","id","date","url","price","prices"]}
                """)
    }

    /// A text that is longer than a number of letters.
    private struct Long: RawRepresentable, Codable {
        var rawValue: String
        init?(rawValue: String) {
            guard rawValue.count >= Self.least else { return nil }
            self.rawValue = rawValue
        }
        static let least = 3
    }
    private struct Day: RawRepresentable, Codable {
        var rawValue: String
        init?(rawValue: String) {
            guard rawValue.wholeMatch(of: #/\d{4}-\d\d-\d\d/#) != nil else { return nil }
            self.rawValue = rawValue
        }
    }
    private struct Texts: Codable {
        var name: Long
        var day: Day
    }

    @Test func `a text has a format only if its type refuses other texts`() {
        #expect(
            schema(Texts.self) == """
                State {"type":"object","properties":{"name":{"type":"string"},\
                "day":{"type":"string","format":"date"}},"required":["name","day"]}
                """)
    }

    @Test func `a time is written only if it can be read back`() throws {
        for text in ["0000-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"] {
            let time = try #require(Timestamp(text))
            #expect(String(decoding: try WireJSON.encode([time]), as: UTF8.self) == #"["\#(text)"]"#)
            #expect(try WireJSON.decode([Timestamp].self, from: try WireJSON.encode([time])) == [time])
        }
        let (first, last) = (
            try #require(Timestamp("0000-01-01T00:00:00Z")), try #require(Timestamp("9999-12-31T23:59:59Z"))
        )
        for time in [first - .milliseconds(1), last + .seconds(1), Timestamp(sinceEpoch: .seconds(Int64.max / 2))] {
            #expect(throws: WireEncodingError.self) { try WireJSON.encode([time]) }
        }
        for text in ["9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z"] {
            #expect(Timestamp(text) == nil, "\(text)")
        }
    }

    private struct Wrapper: RawRepresentable, Codable { var rawValue: String }
    private struct Page<Element: Codable>: Codable {
        var elements: [Element]
        var next: Wrapper?
    }
    private enum First { struct Row: Codable { var id: Wrapper } }
    private enum Second { struct Row: Codable { var price: Int } }
    private struct Both: Codable {
        var first: Page<First.Row>
        var second: Page<Second.Row>
    }

    @Test func `types of one name get longer ones, and a wrapper is what it wraps`() {
        #expect(
            schema(Both.self).split(separator: "\n").map { $0.prefix { $0 != " " } } == [
                "State", "FirstRow", "PageOfFirstRow", "PageOfSecondRow", "SecondRow",
            ])
        #expect(schema(Both.self).contains(#""next":{"type":"string"}"#))
    }

    private struct Renamed: Codable {
        enum CodingKeys: String, CodingKey { case name = "full-name", type = "kind" }
        var name: String
        var type: Int?
    }

    @Test func `members have the names of their coding keys`() {
        #expect(
            schema(Renamed.self) == """
                State {"type":"object","properties":{"full-name":{"type":"string"},\
                "kind":{"type":"integer","format":"int64"}},"required":["full-name"]}
                """)
    }

    /// Reads a text or a number.
    private struct Either: Codable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(Int.self)) == nil { _ = try container.decode(String.self) }
        }
        func encode(to encoder: any Encoder) throws {}
    }

    /// Reads what its own member says.
    private struct Shape: Codable {
        enum CodingKeys: CodingKey { case kind, radius, side }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            switch try container.decode(String.self, forKey: .kind) {
            case "circle": _ = try container.decode(Double.self, forKey: .radius)
            case "square": _ = try container.decode(Double.self, forKey: .side)
            default: throw DecodingError.dataCorruptedError(forKey: .kind, in: container, debugDescription: "unknown")
            }
        }
        func encode(to encoder: any Encoder) throws {}
    }

    private struct Odd: Codable {
        var either: Either
        var shape: Shape
        var after: Int
    }

    @Test func `what an author's own decoding does not tell is open, and the schema says so`() {
        let text = schema(Odd.self)
        #expect(text.contains(#""either":{}"#))
        #expect(
            text.contains(
                #""properties":{"kind":{"type":"string"},"radius":{},"side":{}},"required":["kind"]"#))
        #expect(text.contains(#"Shape {"$comment":"The type does not tell all that it reads"#))
        // No value of the shape is known, so the rest of the struct is known by name only.
        #expect(text.contains(#""after":{}"#))
    }

    private struct Positive: Codable {
        var count: Int
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            count = try container.decodeIfPresent(Int.self, forKey: .count) ?? 1
            guard count > 0 else {
                throw DecodingError.dataCorruptedError(forKey: .count, in: container, debugDescription: "")
            }
        }
    }

    @Test func `a member with a default may be absent`() {
        #expect(
            schema(Positive.self)
                == #"State {"type":"object","properties":{"count":{"type":"integer","format":"int64"}}}"#)
    }

    private struct Empty: Codable {}

    @Test func `types that are no structs are themselves, and a type without members is an object`() {
        #expect(schema([Int].self) == #"State {"type":"array","items":{"type":"integer","format":"int64"}}"#)
        #expect(schema(Never.self) == #"State {"not":{}}"#)
        #expect(schema(Empty.self) == #"State {"type":"object"}"#)
    }
}
