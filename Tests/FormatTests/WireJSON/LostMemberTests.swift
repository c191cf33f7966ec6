import Testing
import WireJSON

@Suite("51, 65: what a stored value has and its type no longer reads is known")
struct LostMemberTests {
    private func lost<T: Codable>(_ type: T.Type, _ text: String, limit: Int = 16) throws -> [String] {
        try WireJSON.decodeStored(type, from: Array(text.utf8), filling: Array("{}".utf8), lostLimit: limit).lost
    }

    /// Expects that the stored form of a value has no lost members.
    private func expectNothingLost<T: Codable & Equatable>(_ value: T) throws {
        let stored = try WireJSON.encodeStored(value).bytes
        let read = try WireJSON.decodeStored(T.self, from: stored, filling: stored)
        #expect(read.value == value)
        #expect(read.lost.isEmpty)
    }

    struct Order: Codable, Equatable {
        var title = "a"
        var note: String?
        var lines: [Line] = []
        var byKey: [String: Line] = [:]
        var step: Step?
        var counts: Set<Int> = [1, 2]

        struct Line: Codable, Equatable {
            var text = ""
            var price: Int?
        }
        enum Step: Codable, Equatable { case idle, moved(from: String, to: String?), named(String), line(Line) }
    }

    @Test("nothing is lost of what a type writes itself: optional members, dictionaries, enums, sets, raw values")
    func noFalseAlarms() throws {
        try expectNothingLost(Order())
        for step in [
            Order.Step.idle, .moved(from: "a", to: nil), .moved(from: "a", to: "b"), .named("x"), .line(.init()),
        ] {
            try expectNothingLost(
                Order(
                    note: "n", lines: [.init(text: "l", price: 3), .init()],
                    byKey: ["type": .init(text: "l"), "a/b~c": .init(price: 1)], step: step))
        }
        try expectNothingLost(["x": 1, "type": 2])
        try expectNothingLost([1: "a", 2: "b"])
        try expectNothingLost([Order.Step.idle: 1, .named("a"): 2])
        try expectNothingLost([Order.Step?.none, .named("a")])
        try expectNothingLost(Computed(count: 2))
        try expectNothingLost(ByHand())
        try expectNothingLost("text")
    }

    @Test("members that are renamed or gone are named by their places, also in arrays, dictionaries and cases")
    func named() throws {
        #expect(try lost(Order.Line.self, #"{"text":"a","price":1,"cost":2}"#) == ["/cost"])
        let text = #"""
            {"title":"a","name":"b","lines":[{"text":"x"},{"text":"y","sku":7}],
            "byKey":{"a/b":{"text":"z","old":{"deep":1}}},"step":{"type":"moved","from":"a","by":"b"},"counts":[],
            "~":[{}]}
            """#
        #expect(
            try lost(Order.self, text) == ["/name", "/lines/1/sku", "/byKey/a~1b/old", "/step/by", "/~0"])
        #expect(try lost(Order.self, text, limit: 2) == ["/name", "/lines/1/sku"])
        #expect(
            try lost([Order.Line].self, #"[{"text":"a","x":1},{"text":"a"},{"text":"a","y":1}]"#) == ["/0/x", "/2/y"])
    }

    @Test("a member that is null holds nothing to lose")
    func null() throws {
        #expect(try lost(Order.Line.self, #"{"text":"a","old":null}"#).isEmpty)
    }

    @Test("a member that the type writes without reading it is no loss")
    func computed() throws {
        #expect(try lost(Computed.self, #"{"count":2,"double":4,"triple":6}"#) == ["/triple"])
    }

    @Test("what is filled in from the initial value is no member of the stored one")
    func filled() throws {
        let filling = try WireJSON.encodeStored(Order(note: "n", lines: [.init()], step: .named("x"))).bytes
        let read = try WireJSON.decodeStored(Order.self, from: Array(#"{"title":"t"}"#.utf8), filling: filling)
        #expect(read.value.title == "t" && read.value.note == "n" && read.value.lines.count == 1)
        #expect(read.lost.isEmpty)
    }

    /// Writes a member that it does not read.
    struct Computed: Codable, Equatable {
        var count: Int

        enum CodingKeys: CodingKey { case count, double }

        init(count: Int) { self.count = count }

        init(from decoder: any Decoder) throws {
            count = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .count)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(count, forKey: .count)
            try container.encode(count * 2, forKey: .double)
        }
    }

    /// Nests by hand, and asks for all names.
    struct ByHand: Codable, Equatable {
        var values = ["a": 1, "b": 2]

        enum Outer: CodingKey { case inner }
        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init() {}

        init(from decoder: any Decoder) throws {
            let inner = try decoder.container(keyedBy: Outer.self).nestedContainer(keyedBy: Name.self, forKey: .inner)
            values = [:]
            for key in inner.allKeys { values[key.stringValue] = try inner.decode(Int.self, forKey: key) }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Outer.self)
            var inner = container.nestedContainer(keyedBy: Name.self, forKey: .inner)
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                try inner.encode(value, forKey: Name(stringValue: key))
            }
        }
    }
}

extension LostMemberTests.Order.Step: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine("\(self)") }
}
