import Testing
import WireJSON

@Suite("What authors nest by hand stays nested")
struct ManualNestingTests {
    struct Place: Codable, Equatable {
        var name: String
        var street: String

        enum CodingKeys: CodingKey { case name, address }
        enum AddressCodingKeys: CodingKey { case street }

        init(name: String, street: String) {
            self.name = name
            self.street = street
        }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let address = try container.nestedContainer(keyedBy: AddressCodingKeys.self, forKey: .address)
            street = try address.decode(String.self, forKey: .street)
            name = try container.decode(String.self, forKey: .name)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var address = container.nestedContainer(keyedBy: AddressCodingKeys.self, forKey: .address)
            try container.encode(name, forKey: .name)
            try address.encode(street, forKey: .street)
        }
    }

    @Test("a struct's nested container is a nested object, also when both are written in turn")
    func keepsStructs() throws {
        let place = Place(name: "n", street: "s")
        #expect(try encoded([place, place]).hasPrefix(#"[{"address":{"street":"s"},"name":"n"},{"#))
        #expect(try decoded([Place].self, encoded([place, place])) == [place, place])
    }

    enum Shape: Codable, Equatable {
        case circle(Double)
        case square(Double)

        enum Keys: CodingKey { case circle, square }
        enum Measure: CodingKey { case size }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            let key = try #require(container.allKeys.first)
            let size = try container.nestedContainer(keyedBy: Measure.self, forKey: key)
                .decode(Double.self, forKey: .size)
            self = key == .circle ? .circle(size) : .square(size)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            switch self {
            case .circle(let size):
                var nested = container.nestedContainer(keyedBy: Measure.self, forKey: .circle)
                try nested.encode(size, forKey: .size)
            case .square(let size):
                var nested = container.nestedContainer(keyedBy: Measure.self, forKey: .square)
                try nested.encode(size, forKey: .size)
            }
        }
    }

    @Test("an enum's hand-written nesting is left as its author wrote it")
    func keepsHandWrittenEnums() throws {
        #expect(try encoded([Shape.circle(1.5)]) == #"[{"circle":{"size":1.5}}]"#)
        #expect(try decoded([Shape].self, #"[{"square":{"size":2}}]"#) == [.square(2)])
    }

    struct Either: Decodable {
        var place: Place?
        init(from decoder: any Decoder) throws {
            guard (try? Intent(from: decoder)) == nil else { return }
            place = try Place(from: decoder)
        }
    }

    struct Wrapper: Codable {
        var place: Place
        init(place: Place) { self.place = place }
        init(from decoder: any Decoder) throws { place = try Place(from: decoder) }
        func encode(to encoder: any Encoder) throws { try place.encode(to: encoder) }
    }

    @Test("a struct that a wrapper hands its coder on to keeps its nesting")
    func keepsWrapped() throws {
        let json = #"{"address":{"street":"s"},"name":"n"}"#
        #expect(try encoded(Wrapper(place: Place(name: "n", street: "s"))) == json)
        #expect(try decoded(Wrapper.self, json).place.street == "s")
    }

    @Test("one type may be tried on an object after another")
    func triesTypes() throws {
        #expect(try decoded(Either.self, #"{"type":"increment"}"#).place == nil)
        #expect(try decoded(Either.self, #"{"type":"add","name":"n","address":{"street":"s"}}"#).place?.street == "s")
        #expect(try issue(Either.self, #"{"type":"add","name":"n","street":"s"}"#).pointer == "/address")
    }

    class Base: Codable {
        var id: Int
        init(id: Int) { self.id = id }
    }
    final class Derived: Base {
        var tags: [String]
        init(id: Int, tags: [String]) {
            self.tags = tags
            super.init(id: id)
        }
        enum CodingKeys: CodingKey { case tags }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            tags = try container.decode([String].self, forKey: .tags)
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: container.superEncoder())
            try container.encode(tags, forKey: .tags)
        }
    }

    @Test("a class and its superclass, by super coders")
    func codesClasses() throws {
        let json = #"{"super":{"id":7},"tags":["a"]}"#
        #expect(try encoded(Derived(id: 7, tags: ["a"])) == json)
        let value = try decoded(Derived.self, json)
        #expect(value.id == 7 && value.tags == ["a"])
    }

    /// Nested containers of every kind, written to crosswise.
    struct Crosswise: Encodable {
        enum Keys: CodingKey { case a, b, c }
        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: Keys.self)
            var list = outer.nestedUnkeyedContainer(forKey: .a)
            var object = outer.nestedContainer(keyedBy: Keys.self, forKey: .b)
            try list.encode(1)
            var inner = list.nestedContainer(keyedBy: Keys.self)
            try object.encode("x", forKey: .a)
            try list.encode([2])
            var innermost = list.nestedUnkeyedContainer()
            try inner.encode(true, forKey: .c)
            try innermost.encodeNil()
            try outer.encode(["k": 3], forKey: .c)
            let single = list.superEncoder()
            var container = single.singleValueContainer()
            try object.encodeNil(forKey: .b)
            try container.encode("last")
            _ = outer.superEncoder()
        }
    }

    @Test("nested containers may be written to crosswise")
    func writesCrosswise() throws {
        #expect(
            try encoded(["v": Crosswise()])
                == #"{"v":{"a":[1,{"c":true},[2],[null],"last"],"b":{"a":"x","b":null},"c":{"k":3},"super":{}}}"#)
    }

    struct Reader: Decodable, Equatable {
        var numbers: [Int] = []
        var texts: [String] = []

        enum Keys: CodingKey { case list, object }
        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: Keys.self)
            var list = try outer.nestedUnkeyedContainer(forKey: .list)
            var inner = try list.nestedUnkeyedContainer()
            while !inner.isAtEnd {
                if try inner.decodeNil() { texts.append("null") } else { numbers.append(try inner.decode(Int.self)) }
            }
            let object = try list.nestedContainer(keyedBy: Keys.self)
            texts.append(try object.decode(String.self, forKey: .object))
            texts.append(try String(from: list.superDecoder()))
            texts.append(try String(from: outer.superDecoder(forKey: .object)))
            numbers.append(list.currentIndex)
        }
    }

    @Test("nested containers are read in any order")
    func readsNested() throws {
        let value = try decoded(Reader.self, #"{"object":"o","list":[[1,null,2],{"object":"p"},"q"]}"#)
        #expect(value.numbers == [1, 2, 3])
        #expect(value.texts == ["null", "p", "q", "o"])
    }
}
