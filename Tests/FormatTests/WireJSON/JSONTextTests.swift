import Foundation
import Testing
import WireJSON

@Suite("Values that are kept as text")
struct JSONTextTests {
    struct Envelope: Decodable {
        var name: String
        var content: JSONText
        var more: [JSONText]?
    }

    @Test("54: a member of any kind is kept as it was written, but for the blanks")
    func keeps() throws {
        let texts = [
            "null", "true", "false", "0", "-1.50e+3", "123456789012345678901234567890", #""a\u00e9\"\\\/é""#, "[]",
            "{}",
            #"[[],{"":[1,"two",null]}]"#, #"{"a":{"type":"x"},"a\"":[true]}"#,
        ]
        for text in texts {
            let envelope = try decoded(Envelope.self, #"{"content": \#(text) ,"name":"n","more":[ \#(text), 1]}"#)
            #expect(String(decoding: envelope.content.bytes, as: UTF8.self) == text)
            #expect(envelope.more?.map { String(decoding: $0.bytes, as: UTF8.self) } == [text, "1"])
        }
        let spaced = try decoded(JSONText.self, "\t{ \"a\" : [ 1 , { } ] , \"b\" : \" \" }\n")
        #expect(String(decoding: spaced.bytes, as: UTF8.self) == #"{"a":[1,{}],"b":" "}"#)
        #expect(throws: WireDecodingError.self) { try decoded(Envelope.self, #"{"name":"n"}"#) }
    }

    @Test("54: random documents mean the same afterwards")
    func fuzz() throws {
        var random = SeededGenerator(seed: 54)
        func value(_ depth: Int) -> Any {
            switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
            case 0: NSNull()
            case 1: Bool.random(using: &random)
            case 2: Int.random(in: -99...99, using: &random)
            case 3: ["é\"", "a\\b", "", "\u{1}"].randomElement(using: &random) ?? ""
            case 4: (0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth - 1) }
            default:
                Dictionary(
                    uniqueKeysWithValues: (0..<Int.random(in: 0...3, using: &random)).map {
                        ("k\($0)", value(depth - 1))
                    })
            }
        }
        for _ in 0..<1000 {
            let bytes = try Array(JSONSerialization.data(withJSONObject: ["v": value(4)], options: .prettyPrinted))
            let text = try WireJSON.decode(JSONText.self, from: bytes)
            #expect(AnyValue.oracle(text.bytes) == AnyValue.oracle(bytes))
        }
    }

    @Test("54: another decoder is told that it cannot do this")
    func foreign() {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONText.self, from: Data("{}".utf8)) }
    }
}
