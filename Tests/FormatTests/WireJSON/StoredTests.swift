import Testing
import WireJSON

@Suite("Values that are kept: nil is written, and what is absent is filled in")
struct StoredTests {
    struct Old: Codable, Equatable {
        var name = "old"
        var note: String?
        var inner = Inner()

        struct Inner: Codable, Equatable {
            var count = 1
            var limit: Int?
        }
    }

    struct New: Codable, Equatable {
        var name = "new"
        var note: String? = "a note"
        var inner = Inner()
        var tags = ["a", "b"]
        var extra: Int? = 7
        var place = Place(city: "Lille")

        struct Inner: Codable, Equatable {
            var count = 10
            var limit: Int? = 20
            var isOpen = true
            var mode = Mode.manual(level: 3)
        }
        struct Place: Codable, Equatable {
            var city: String
            var street: String?
        }
        enum Mode: Codable, Equatable { case automatic, manual(level: Int) }
    }

    private func stored(_ value: some Encodable) throws -> String {
        String(decoding: try WireJSON.encodeStored(value).bytes, as: UTF8.self)
    }

    private func filled<T: Decodable>(_ type: T.Type, _ text: String, _ filling: String) throws -> T {
        try WireJSON.decode(type, from: Array(text.utf8), filling: Array(filling.utf8))
    }

    @Test("51: members that are nil are written as null, in structs, in cases, in arrays and under keys nested by hand")
    func writesNulls() throws {
        #expect(try stored(Old()) == #"{"name":"old","note":null,"inner":{"count":1,"limit":null}}"#)
        #expect(try stored(Intent.rename(from: "a", to: nil)) == #"{"type":"rename","from":"a","to":null}"#)
        #expect(try stored(Intent.maybe(nil)) == #"{"type":"maybe","value":null}"#)
        #expect(try stored([Old.Inner(), .init(limit: 2)]) == #"[{"count":1,"limit":null},{"count":1,"limit":2}]"#)
        #expect(try stored(ByHand()) == #"{"outer":{"member":null}}"#)
    }

    @Test("51: it is told whether a null was written; without one the bytes are the plain ones")
    func tellsNulls() throws {
        for (value, hasNulls) in [(Old(), true), (Old(note: "n", inner: .init(limit: 1)), false)] {
            let (bytes, told) = try WireJSON.encodeStored(value)
            #expect(told == hasNulls)
            #expect(try (bytes == WireJSON.encode(value)) == !hasNulls)
            #expect(try WireJSON.decode(Old.self, from: bytes) == value)
        }
        // Values that are null by themselves are so in both.
        let mixed: [String: Int?] = ["a": nil, "b": 1]
        #expect(try WireJSON.encodeStored(mixed) == (WireJSON.encode(mixed), false))
        #expect(try WireJSON.encodeStored([Int?.none]) == (Array("[null]".utf8), false))
        #expect(try WireJSON.encodeStored(ByHand()).hasNulls)
        #expect(try WireJSON.encodeStored(Undone()) == (WireJSON.encode(Undone()), false))
        #expect(try stored(Undone(before: .some(nil))) == #"{"before":null,"other":1}"#)
        #expect(try WireJSON.encodeStored(Undone(before: .some(nil))).hasNulls)
    }

    @Test("51: every kind of optional member is written as null")
    func everyKind() throws {
        struct Kinds: Codable, Equatable {
            var a: Bool?, b: String?, c: Double?, d: Float?, e: Int?, f: Int8?, g: Int16?, h: Int32?, i: Int64?
            var j: UInt?, k: UInt8?, l: UInt16?, m: UInt32?, n: UInt64?, o: Int128?, p: UInt128?, q: [Int]?
        }
        let names = "abcdefghijklmnopq".map { #""\#($0)":null"# }
        #expect(try stored(Kinds()) == "{\(names.joined(separator: ","))}")
        #expect(try encoded(Kinds()) == "{}")
        let full = Kinds(
            a: true, b: "b", c: 1.5, d: 2.5, e: 1, f: 2, g: 3, h: 4, i: 5, j: 6, k: 7, l: 8, m: 9, n: 10, o: 11, p: 12,
            q: [1])
        #expect(try WireJSON.encodeStored(full) == (WireJSON.encode(full), false))
    }

    @Test("51: members that a stored value lacks come from the other text, also inside structs")
    func fills() throws {
        let old = try stored(Old(note: nil, inner: .init(count: 5, limit: nil)))
        let new = try filled(New.self, old, stored(New()))
        #expect(
            new
                == New(
                    name: "old", note: nil, inner: .init(count: 5, limit: nil, isOpen: true, mode: .manual(level: 3)),
                    tags: ["a", "b"], extra: 7, place: .init(city: "Lille")))
        #expect(try filled(New.self, "{}", stored(New())) == New())
        #expect(try filled(New.self, #"{"extra":null,"place":{}}"#, stored(New())).extra == nil)
    }

    @Test("51: a whole member comes from the other text with all that is in it")
    func wholeMembers() throws {
        struct State: Codable, Equatable {
            var table = ["x": New.Place(city: "X", street: "s")]
            var mode: New.Mode? = .manual(level: 9)
            var list = [New.Inner()]
        }
        #expect(try filled(State.self, "{}", stored(State())) == State())
    }

    @Test("51: arrays, dictionaries and cases have no same place: nothing is filled into them")
    func noSamePlace() throws {
        struct State: Codable, Equatable {
            var list = [New.Place(city: "a", street: "s")]
            var table = ["k": New.Place(city: "b", street: "s")]
            var mode = Case.at(New.Place(city: "c", street: "s"), note: "n")
            enum Case: Codable, Equatable { case nowhere, at(New.Place, note: String?) }
        }
        let filling = try stored(State())
        #expect(try filled(State.self, #"{"list":[{"city":"z"}]}"#, filling).list == [.init(city: "z")])
        #expect(try filled(State.self, #"{"table":{"k":{"city":"z"}}}"#, filling).table == ["k": .init(city: "z")])
        #expect(try filled(State.self, #"{"table":{}}"#, filling).table == [:])
        #expect(
            try filled(State.self, #"{"mode":{"type":"at","value":{"city":"z"}}}"#, filling).mode
                == .at(.init(city: "z"), note: nil))
        #expect(try filled(State.self, #"{"mode":{"type":"nowhere"}}"#, filling).mode == .nowhere)
        #expect(throws: WireDecodingError.self) { try filled(State.self, #"{"list":[{}]}"#, filling) }
        #expect(throws: WireDecodingError.self) { try filled(State.self, #"{"table":{"k":{}}}"#, filling) }
        #expect(throws: WireDecodingError.self) { try filled(State.self, #"{"mode":{"type":"at"}}"#, filling) }
        #expect(throws: WireDecodingError.self) { try filled(State.self, #"{"mode":{}}"#, filling) }
    }

    @Test(
        "51: a wrapper that hands its decoder on is filled as the struct that it wraps, and not where that is an enum")
    func wrappers() throws {
        struct Wrapper<Value: Codable & Equatable>: Codable, Equatable {
            var value: Value
            init(_ value: Value) { self.value = value }
            init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
            func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
        }
        struct State: Codable, Equatable {
            var place = Wrapper(New.Place(city: "Lille", street: "s"))
            var mode = Wrapper(New.Mode.manual(level: 3))
            var table = Wrapper(["k": 1])
        }
        let filling = try stored(State())
        #expect(try filled(State.self, #"{"place":{"city":"z"}}"#, filling).place.value.street == "s")
        #expect(throws: WireDecodingError.self) {
            try filled(State.self, #"{"mode":{"type":"manual"}}"#, filling)
        }
        #expect(try filled(State.self, #"{"table":{}}"#, filling).table.value == [:])
    }

    @Test("51: a value of another kind than the other text's is taken as it is")
    func otherKinds() throws {
        struct State: Codable, Equatable { var inner: Old.Inner? = Old.Inner(count: 3) }
        let filling = try stored(State())
        #expect(try filled(State.self, #"{"inner":null}"#, filling).inner == nil)
        #expect(
            try filled(State.self, #"{"inner":{}}"#, #"{"inner":null}"#.replacing("null", with: #"{"count":8}"#))
                .inner == Old.Inner(count: 8))
        #expect(throws: WireDecodingError.self) { try filled(State.self, #"{"inner":{}}"#, #"{"inner":null}"#) }
        #expect(try filled(Int.self, "5", "6") == 5)
        #expect(try filled([Int].self, "[5]", "{}") == [5])
    }

    @Test("51: errors name the place in the stored text, or what both lack")
    func errors() throws {
        func pointer(_ text: String, _ filling: String) -> String? {
            do throws(WireDecodingError) {
                _ = try WireJSON.decode(New.self, from: Array(text.utf8), filling: Array(filling.utf8))
            } catch {
                if case .mismatch(let issues) = error { return issues.first?.pointer }
            }
            return nil
        }
        let filling = try stored(New())
        #expect(pointer(#"{"inner":{"count":"x"}}"#, filling) == "/inner/count")
        #expect(pointer(#"{"inner":{}}"#, #"{"name":"n"}"#) == "/inner/count")
        #expect(pointer("{}", filling.replacing("10", with: "\"x\"")) == "/inner/count")
        #expect(throws: WireDecodingError.malformed(offset: 1, reason: "expected a member's name in quotes")) {
            try filled(New.self, "{}", "{")
        }
    }

    @Test("51: whatever members are taken away, the filled value has the stored ones and the other text's")
    func fuzz() throws {
        struct Leaf: Codable, Equatable {
            var a: Int
            var b: String?
            var c: [Int]
        }
        struct Branch: Codable, Equatable {
            var left: Leaf
            var right: Leaf?
            var name: String
        }
        struct Root: Codable, Equatable {
            var one: Branch
            var two: Branch
            var table: [String: Leaf]
            var flag: Bool?
        }
        var random = SeededGenerator(seed: 51)
        func leaf() -> Leaf {
            Leaf(
                a: Int.random(in: 0...99, using: &random), b: Bool.random(using: &random) ? "é\"b" : nil,
                c: (0..<Int.random(in: 0...2, using: &random)).map { $0 })
        }
        func branch() -> Branch {
            Branch(left: leaf(), right: Bool.random(using: &random) ? leaf() : nil, name: "\(random.next())")
        }
        func root() -> Root {
            Root(
                one: branch(), two: branch(), table: ["k\(Int.random(in: 0...2, using: &random))": leaf()],
                flag: Bool.random(using: &random) ? .random(using: &random) : nil)
        }
        for round in 0..<2000 {
            let (own, other) = (root(), root())
            let filling = try WireJSON.encodeStored(other).bytes
            #expect(try WireJSON.decode(Root.self, from: WireJSON.encodeStored(own).bytes, filling: filling) == own)

            // The oracle does the same to the values, member by member.
            var text = ""
            var expected = other
            func take(_ name: String, _ json: String, _ set: () -> Void) {
                guard Bool.random(using: &random) else { return }
                text += (text.isEmpty ? "" : ",") + "\"\(name)\":\(json)"
                set()
            }
            take("flag", try stored(own.flag)) { expected.flag = own.flag }
            take("table", try stored(own.table)) { expected.table = own.table }
            take("two", try stored(own.two)) { expected.two = own.two }
            if Bool.random(using: &random) {
                let inner = #""name":"x","left":{"a":5}"#
                text += (text.isEmpty ? "" : ",") + "\"one\":{\(inner)}"
                expected.one.name = "x"
                expected.one.left.a = 5
            }
            let value = try WireJSON.decode(Root.self, from: Array("{\(text)}".utf8), filling: filling)
            #expect(
                value == expected, "round \(round): {\(text)} filled from \(String(decoding: filling, as: UTF8.self))")
        }
    }

    @Test("51: random bytes on either side do no harm")
    func randomBytes() throws {
        var random = SeededGenerator(seed: 510)
        let letters = Array(#"{}[]":,nulltrue0123456789namecountinnerlimitmodetype"#.utf8)
        let good = try WireJSON.encodeStored(New()).bytes
        for round in 0..<20_000 {
            var text = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                if Bool.random(using: &random) {
                    text[place] = letters.randomElement(using: &random) ?? 0
                } else {
                    text.remove(at: place)
                }
            }
            _ = try? WireJSON.decode(
                New.self, from: round.isMultiple(of: 2) ? text : good, filling: round.isMultiple(of: 2) ? good : text)
            _ = try? WireJSON.decode(New.self, from: text, filling: text)
        }
    }
}

/// Nests by hand, beside what the compiler writes.
private struct ByHand: Encodable {
    enum Keys: CodingKey { case outer, member }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .outer)
        try nested.encodeIfPresent(Int?.none, forKey: .member)
    }
}

/// Writes a member with a nil in it, which fails and is undone.
private struct Undone: Encodable {
    struct Failing: Encodable {
        enum Keys: CodingKey { case a }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encodeIfPresent(Int?.none, forKey: .a)
            throw Unexpected()
        }
    }
    enum Keys: CodingKey { case before, member, other }

    var before: Int??

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        if let before { try container.encodeIfPresent(before, forKey: .before) }
        try? container.encode(Failing(), forKey: .member)
        try container.encode(1, forKey: .other)
    }
}
