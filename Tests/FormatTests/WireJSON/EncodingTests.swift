import Testing
import WireJSON

@Suite("What the encoder promises")
struct EncodingTests {
    @Test("a state is written in its members' order, without nils")
    func writesMembersInOrder() throws {
        struct State: Codable {
            var zebra = 1
            var apple: String?
            var mango: [Bool] = [true]
            var empty = Empty()
            struct Empty: Codable {}
        }
        #expect(try encoded(State()) == #"{"zebra":1,"mango":[true],"empty":{}}"#)
        #expect(try decoded(State.self, encoded(State())).zebra == 1)
    }

    @Test("dictionaries and sets are written in the order of their bytes, whatever the hashes")
    func sortsHashedCollections() throws {
        let names = (0..<50).map { "n\($0),\"[{" }
        let json = try encoded(Dictionary(uniqueKeysWithValues: names.map { ($0, [$0: 1]) }))
        let sorted = names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        let members = try sorted.map { "\(try encoded($0)):{\(try encoded($0)):1}" }
        #expect(json == "{\(members.joined(separator: ","))}")
        #expect(try decoded([String: [String: Int]].self, json).count == 50)

        #expect(try encoded(Set(["b", "a", "c,d", "]"])) == #"["]","a","b","c,d"]"#)
        #expect(try encoded([Direction.south: [1, 2], .north: []]) == #"{"north":[],"south":[1,2]}"#)
        #expect(try encoded([2: "x", 1: "y"]) == #"{"1":"y","2":"x"}"#)
        #expect(try encoded(["c", "a", "b"]) == #"["c","a","b"]"#)
    }

    struct Measurement: Codable {
        var values: [String: [Double]]
        var single: Float = 0
    }

    @Test("a number that JSON does not know is refused with its place", arguments: [Double.nan, .infinity, -.infinity])
    func refusesNonFinite(value: Double) throws {
        let error = try #require(throws: WireEncodingError.self) {
            try WireJSON.encode([Measurement(values: [:]), Measurement(values: ["a/b": [1, value]])])
        }
        #expect(error.pointer == "/1/values/a~1b/1")
        #expect(error.detail.contains("finite"))
        #expect(throws: WireEncodingError.self) { try WireJSON.encode(value) }
        #expect(throws: WireEncodingError.self) { try WireJSON.encode(Float(value)) }
        let float = try #require(throws: WireEncodingError.self) {
            try WireJSON.encode(Measurement(values: ["x": [1]], single: Float(value)))
        }
        #expect(float.pointer == "/single")
    }

    @Test("a whole number is written as the digits of its description, without a point")
    func writesWholeNumbers() throws {
        var random = SeededGenerator(seed: 5)
        let edges: [Double] = [0, 1, 9, 10, 99, 100, 0x1p52, 0x1p53 - 1, 0x1p53, 0x1p53 + 2, 0x1p54, 1e15, 1e16, 1e300]
        let random53 = (0..<2000).map { _ in Double(random.next() >> UInt64.random(in: 10...63, using: &random)) }
        for value in (edges + random53).flatMap({ [$0, -$0, $0 + 0.5] }) {
            let digits = value.description.hasSuffix(".0") ? String(value.description.dropLast(2)) : value.description
            #expect(try encoded(value) == digits)
            #expect(try encoded(["x": [value]]) == "{\"x\":[\(digits)]}")
        }
        for value in [Int.min, -10, -9, -1, 0, 9, 10, Int.max] { #expect(try encoded([value]) == "[\(value)]") }
        #expect(try encoded([UInt64.max]) == "[18446744073709551615]")
        #expect(try encoded([UInt128.max]) == "[340282366920938463463374607431768211455]")
        #expect(try encoded([Int128.min]) == "[-170141183460469231731687303715884105728]")
    }

    @Test("a text is escaped wherever in it something must be, as a value and as a name", arguments: 0...40)
    func escapesAtEachPlace(length: Int) throws {
        let plain = String(repeating: "a", count: length)
        #expect(try encoded([plain: plain]) == "{\"\(plain)\":\"\(plain)\"}")
        for place in 0..<length {
            for (character, escaped) in [
                ("\u{1F}", "\\u001f"), ("\"", "\\\""), ("\\", "\\\\"), ("\u{7F}", "\u{7F}"), ("é", "é"),
            ] {
                let (before, after) = (plain.prefix(place), plain.dropFirst(place + 1))
                let (text, json) = ("\(before)\(character)\(after)", "\"\(before)\(escaped)\(after)\"")
                #expect(try encoded([text: text]) == "{\(json):\(json)}")
            }
        }
    }

    @Test("an output is added to, and left as it was when encoding fails")
    func appends() throws {
        var output = Array(#"{"state":"#.utf8)
        try WireJSON.encode(["count": 5], into: &output)
        #expect(String(decoding: output, as: UTF8.self) == #"{"state":{"count":5}"#)
        let error = #expect(throws: WireEncodingError.self) { try WireJSON.encode(["x": [Double.nan]], into: &output) }
        #expect(error?.pointer == "/x/0")
        #expect(String(decoding: output, as: UTF8.self) == #"{"state":{"count":5}"#)
    }

    final class Node: Codable {
        var child: Node?
    }

    @Test("values nested too deep, or in a circle, are refused")
    func refusesDepth() throws {
        let circle = Node()
        circle.child = circle
        defer { circle.child = nil }
        let error = try #require(throws: WireEncodingError.self) { try WireJSON.encode(circle) }
        #expect(error.detail == "nested deeper than 128 levels")
        func chain(_ depth: Int) -> Node {
            let node = Node()
            node.child = depth > 1 ? chain(depth - 1) : nil
            return node
        }
        let deepest = try WireJSON.encode(chain(128))
        #expect(try WireJSON.decode(Node.self, from: deepest).child?.child != nil)
        #expect(throws: WireEncodingError.self) { try WireJSON.encode(chain(129)) }
    }

    struct Endless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    @Test("a value that encodes itself for ever is refused")
    func refusesEndless() {
        #expect(throws: WireEncodingError.self) { try WireJSON.encode(Endless()) }
    }

    struct Failing: Encodable {
        struct Trouble: Error {}
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .before)
            throw Trouble()
        }
        enum Keys: CodingKey { case before }
    }

    struct Forgiving: Encodable {
        enum Keys: CodingKey { case a, b, c, d }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try? container.encode(Failing(), forKey: .a)
            do {
                try container.encode([Failing()], forKey: .b)
            } catch is Failing.Trouble {
                try container.encode("caught", forKey: .c)
            }
            try? container.encode(Double.nan, forKey: .b)
            var list = container.nestedUnkeyedContainer(forKey: .d)
            try? list.encode(Failing())
            try list.encode(2)
            try? list.encode(Double.nan)
        }
    }

    @Test("an author's error is told with its place; an author may catch it and go on as if nothing had been written")
    func authorsErrors() throws {
        let error = try #require(throws: WireEncodingError.self) { try WireJSON.encode(["x": [Failing()]]) }
        #expect(error.pointer == "/x/0")
        #expect(error.detail.contains("Trouble"))
        #expect(try encoded([Forgiving()]) == #"[{"c":"caught","d":[2]}]"#)
    }

    struct Misuse: Encodable {
        var kind: Int
        enum Keys: CodingKey { case a }
        func encode(to encoder: any Encoder) throws {
            var single = encoder.singleValueContainer()
            switch kind {
            case 0:
                try single.encode(1)
                try single.encode(2)
            case 1:
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                _ = encoder.container(keyedBy: Keys.self)
            case 2:
                _ = encoder.container(keyedBy: Keys.self)
                try single.encode(1)
            case 3:
                var keyed = encoder.container(keyedBy: Keys.self)
                let outside = keyed
                let late = Closure {
                    var outside = outside
                    try outside.encode(1, forKey: .a)
                }
                try keyed.encode(late, forKey: .a)
            default:
                try single.encode(1)
                var list = encoder.unkeyedContainer()
                var nested = list.nestedContainer(keyedBy: Keys.self)
                try nested.encode(1, forKey: .a)
            }
        }
    }

    struct Closure: Encodable {
        var body: () throws -> Void
        init(_ body: @escaping () throws -> Void) { self.body = body }
        func encode(to encoder: any Encoder) throws { try body() }
    }

    @Test("containers used against their rules are refused", arguments: 0...4)
    func refusesMisuse(kind: Int) {
        #expect(throws: WireEncodingError.self) { try WireJSON.encode([Misuse(kind: kind)]) }
    }

    @Test("an author's codingPath is the way through the document")
    func codingPaths() throws {
        struct Path: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(encoder.codingPath.map(\.stringValue).joined(separator: "."))
            }
        }
        #expect(try encoded(["a": [[Path()], [Path()]]]) == #"{"a":[["a.0.0"],["a.1.0"]]}"#)
    }
}
