import Testing
import WireJSON

@Suite("The check of an enum's mapping at start-up")
struct MappingCheckTests {
    enum Faulty: Codable, Sendable {
        case fine(amount: Int)
        case pair(Int, String)
        case optionals(Int?, Int?)
        case mixed(first: Int, Int)
        case typed(type: String)
        case optionalType(type: String?)
        case both(Int, value: Int)
        case inner(Nested)
        case number(Double)

        enum Nested: Codable, Sendable {
            case bad(Int, Int)
        }
    }

    @Test("passes every case that the wire can hold")
    func passes() throws {
        let intents: [Intent] = [
            .increment, .add(amount: 5), .pick("x"), .rename(from: "a", to: nil), .maybe(1),
            .move(.north, steps: []), .nest(.deeper(.increment)),
        ]
        for intent in intents { try WireJSON.checkMapping(of: intent) }
        try WireJSON.checkMapping(of: Faulty.fine(amount: 1))
        try WireJSON.checkMapping(of: Faulty.mixed(first: 1, 2))
    }

    @Test(
        "refuses the rest with the case's name and the reason",
        arguments: [
            (.pair(1, "a"), "pair", "without a label"),
            (.optionals(nil, nil), "optionals", "without a label"),
            (.typed(type: "x"), "typed", "'type'"),
            (.optionalType(type: nil), "optionalType", "'type'"),
            (.both(1, value: 2), "both", "'value'"),
            (.inner(.bad(1, 2)), "bad", "without a label"),
            (.number(.nan), "number", "finite"),
        ] as [(Faulty, String, String)])
    func refuses(example: Faulty, name: String, reason: String) throws {
        let error = try #require(throws: WireMappingError.self) { try WireJSON.checkMapping(of: example) }
        #expect(error.caseName == name)
        #expect(error.detail.contains(reason), "\(error)")
        #expect("\(error)".contains("\"\(name)\""))
    }

    @Test("such a case is not encoded as an object with a member twice either")
    func neverWritesTwice() {
        for value: Faulty in [.pair(1, "a"), .typed(type: "x"), .both(1, value: 2)] {
            #expect(throws: WireEncodingError.self) { try WireJSON.encode(value) }
        }
    }

    enum Forgetful: Codable {
        case remembered(Int)

        init(from decoder: any Decoder) throws { self = .remembered(0) }
    }

    enum Refusing: Codable {
        case closed

        init(from decoder: any Decoder) throws {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "closed for good"))
        }
    }

    @Test("what does not come back the same is refused")
    func refusesLoss() throws {
        let forgetful = try #require(throws: WireMappingError.self) {
            try WireJSON.checkMapping(of: Forgetful.remembered(1))
        }
        #expect(forgetful.caseName == "remembered")
        let refusing = try #require(throws: WireMappingError.self) { try WireJSON.checkMapping(of: Refusing.closed) }
        #expect(refusing.caseName == "closed")
        #expect(refusing.detail.contains("closed for good"))
    }

    @Test("what is no object with a type is refused")
    func refusesOtherForms() {
        #expect(throws: WireMappingError.self) { try WireJSON.checkMapping(of: Direction.north) }
        #expect(throws: WireMappingError.self) { try WireJSON.checkMapping(of: [1]) }
        #expect(throws: WireMappingError.self) { try WireJSON.checkMapping(of: ["type": 1]) }
    }
}
