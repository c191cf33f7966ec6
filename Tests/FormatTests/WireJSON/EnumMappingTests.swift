import Testing
import WireJSON

@Suite("Enums with cases are flat objects")
struct EnumMappingTests {
    @Test(
        "a case and its JSON are the same thing both ways",
        arguments: [
            (.increment, #"{"type":"increment"}"#),
            (.add(amount: 5), #"{"type":"add","amount":5}"#),
            (.pick("x"), #"{"type":"pick","value":"x"}"#),
            (.rename(from: "a", to: "b"), #"{"type":"rename","from":"a","to":"b"}"#),
            (.rename(from: "a", to: nil), #"{"type":"rename","from":"a"}"#),
            (.maybe(nil), #"{"type":"maybe"}"#),
            (.maybe(1), #"{"type":"maybe","value":1}"#),
            (.move(.north, steps: [.south]), #"{"type":"move","value":"north","steps":["south"]}"#),
            (.nest(.leaf), #"{"type":"nest","value":{"type":"leaf"}}"#),
            (
                .wrap(inner: .pair(left: 1, right: 0.5)),
                #"{"type":"wrap","inner":{"type":"pair","left":1,"right":0.5}}"#
            ),
            (
                .nest(.deeper(.add(amount: 1))),
                #"{"type":"nest","value":{"type":"deeper","value":{"type":"add","amount":1}}}"#
            ),
        ] as [(Intent, String)])
    func mapsBothWays(intent: Intent, json: String) throws {
        #expect(try encoded(intent) == json)
        #expect(try decoded(Intent.self, json) == intent)
    }

    @Test("members may come in any order, with others among them")
    func ignoresOrderAndUnknownMembers() throws {
        let json = #"{"x":[{"type":"add"}],"amount":5,"add":{"amount":6},"type":"add","":null}"#
        #expect(try decoded(Intent.self, json) == .add(amount: 5))
    }

    @Test("null is taken for nil")
    func takesNullForNil() throws {
        #expect(
            try decoded(Intent.self, #"{"type":"rename","from":"a","to":null}"#) == .rename(from: "a", to: nil))
        #expect(try decoded(Intent.self, #"{"type":"maybe","value":null}"#) == .maybe(nil))
    }

    @Test("escapes in names and in the type are resolved before they are compared")
    func resolvesEscapes() throws {
        let json = #"{"\u0074ype":"\u0061dd","amoun\u0074":5}"#
        #expect(try decoded(Intent.self, json) == .add(amount: 5))
    }

    struct Holder: Codable, Equatable {
        var type: String
        var one: Intent
        var many: [Intent]
        var none: Intent?
        var some: Intent?
        var named: [String: Intent]
    }

    @Test("enums inside structs, arrays, optionals and dictionaries are flat too; a struct's own type is ordinary")
    func mapsEnumsAnywhere() throws {
        let holder = Holder(
            type: "increment", one: .increment, many: [.add(amount: 1), .pick("y")], none: nil, some: .maybe(2),
            named: ["type": .increment, "b": .add(amount: 2)])
        let json = """
            {"type":"increment","one":{"type":"increment"},\
            "many":[{"type":"add","amount":1},{"type":"pick","value":"y"}],"some":{"type":"maybe","value":2},\
            "named":{"b":{"type":"add","amount":2},"type":{"type":"increment"}}}
            """
        #expect(try encoded(holder) == json)
        #expect(try decoded(Holder.self, json) == holder)
    }

    @Test("a dictionary with a member called type is an ordinary object")
    func leavesDictionariesAlone() throws {
        let json = #"{"amount":"5","type":"add"}"#
        #expect(try decoded([String: String].self, json) == ["type": "add", "amount": "5"])
        #expect(try encoded(["type": "add", "amount": "5"]) == json)
    }

    enum Generic<Value: Codable & Equatable>: Codable, Equatable {
        case none
        case some(Value)
        case `default`(value: Value, count: Int)
    }

    @Test("generic enums and cases named by keywords are mapped")
    func mapsGenericEnums() throws {
        let json = #"[{"type":"some","value":[1]},{"type":"none"},{"type":"default","value":[],"count":2}]"#
        let values: [Generic<[Int]>] = [.some([1]), .none, .default(value: [], count: 2)]
        #expect(try encoded(values) == json)
        #expect(try decoded([Generic<[Int]>].self, json) == values)
    }

    private enum Private: Codable, Equatable {
        case type
        case value(Int)
        case renamed(amount: Int)

        enum CodingKeys: String, CodingKey {
            case type, value
            case renamed = "re-named"
        }
        enum RenamedCodingKeys: String, CodingKey {
            case amount = "sum"
        }
    }

    @Test("private enums, cases called type and value, and keys renamed by the author are mapped")
    func mapsRenamedKeys() throws {
        let json = #"[{"type":"type"},{"type":"value","value":3},{"type":"re-named","sum":4}]"#
        let values: [Private] = [.type, .value(3), .renamed(amount: 4)]
        #expect(try encoded(values) == json)
        #expect(try decoded([Private].self, json) == values)
    }

    /// Hands its coder on, as property wrappers do.
    struct Transparent<Value: Codable & Equatable>: Codable, Equatable {
        var value: Value

        init(_ value: Value) { self.value = value }
        init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    @Test("a wrapper that hands its coder on is as flat as what it wraps")
    func mapsThroughWrappers() throws {
        let json = #"[{"type":"add","amount":5},{"type":"increment"}]"#
        let values = [Transparent(Intent.add(amount: 5)), Transparent(Intent.increment)]
        #expect(try encoded(values) == json)
        #expect(try decoded([Transparent<Intent>].self, json) == values)
        let generic = Transparent(Generic<Int>.default(value: 1, count: 2))
        #expect(try encoded(generic) == #"{"type":"default","value":1,"count":2}"#)
        #expect(try decoded(Transparent<Generic<Int>>.self, encoded(generic)) == generic)
        for value: Private in [.type, .value(3), .renamed(amount: 4)] {
            #expect(try encoded(Transparent(value)) == encoded(value))
            #expect(try decoded(Transparent<Private>.self, encoded(value)).value == value)
        }
        let issue = try issue([Transparent<Intent>].self, #"[{"type":"nope"}]"#)
        #expect(issue.unknownType == "nope")
        #expect(issue.pointer == "/0/type")
    }
}
