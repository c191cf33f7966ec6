import WireJSON

extension FuzzTarget {
    /// JSON as intents, as stored states and as any value: each survives a round trip.
    static let json = FuzzTarget(name: "json") { input throws(BrokenProperty) in
        let text = attempt { () throws(WireDecodingError) in try WireJSON.decode(JSONText.self, from: input) }
        switch text {
        case .success(let text):
            try hold(text.bytes.allSatisfy { $0 >= 0x20 }, "a JSON text has a control character")
            let again = try succeed("a JSON text cannot be read") {
                try WireJSON.decode(JSONText.self, from: text.bytes)
            }
            try hold(again == text, "a JSON text changes when it is read again")
        case .failure(.mismatch): throw BrokenProperty("a JSON text is refused for its form")
        case .failure(.malformed(let offset, _)):
            try hold(0...input.count ~= offset, "the fault is at byte \(offset) of \(input.count)")
        }
        let isJSON = (try? text.get()) != nil
        try roundTrip(SampleIntent.self, input, isJSON)
        try roundTrip([SampleIntent?].self, input, isJSON)
        try roundTrip(SampleState.self, input, isJSON)
        try roundTrip([String: [Double?]].self, input, isJSON)
        try roundTrip(AnyJSON.self, input, isJSON)
        try fill(input)
    }

    private static func roundTrip<T: Codable & Equatable>(
        _ type: T.Type, _ input: [UInt8], _ isJSON: Bool
    ) throws(BrokenProperty) {
        let value: T
        do throws(WireDecodingError) {
            value = try WireJSON.decode(type, from: input)
        } catch {
            if case .malformed = error { try hold(!isJSON, "a JSON text is malformed as \(type): \(error)") }
            // Clients read this error.
            for name in ["Swift.", "SampleIntent", "SampleState", "AnyJSON", "CodingKey"] {
                try hold(!"\(error)".contains(name), "an error names a Swift type: \(error)")
            }
            return
        }
        try hold(isJSON, "\(type) was read from a text that is not JSON")
        let written = try succeed("\(type) cannot be written") { try WireJSON.encode(value) }
        let read = try succeed("\(type) cannot be read again") { try WireJSON.decode(type, from: written) }
        try hold(read == value, "\(type) is another value when it is read again")
        let again = try succeed("\(type) cannot be written again") { try WireJSON.encode(read) }
        try hold(again == written, "\(type) is written in two ways")
    }

    /// Reads a stored state in which members may be missing.
    private static func fill(_ input: [UInt8]) throws(BrokenProperty) {
        let initial = try succeed("a state cannot be stored") { try WireJSON.encodeStored(SampleState()).bytes }
        guard let state = try? WireJSON.decode(SampleState.self, from: input, filling: initial) else { return }
        let stored = try succeed("a state cannot be stored") { try WireJSON.encodeStored(state).bytes }
        let read = try succeed("a stored state cannot be read") {
            try WireJSON.decode(SampleState.self, from: stored, filling: initial)
        }
        try hold(read == state, "a stored state is another value when it is read")
    }
}

/// An intent with every possible shape.
enum SampleIntent: Codable, Equatable, Sendable {
    case increment
    case add(amount: Int)
    case pick(String)
    case rename(from: String, to: String?)
    case maybe(Int?)
    case move(Direction, steps: [Direction])
    case nest(Inner)
    case fill(rows: [SampleState.Row?], ratio: Double)

    enum Direction: String, Codable, Sendable { case north, south }

    enum Inner: Codable, Equatable, Sendable {
        case leaf
        case pair(left: UInt8, right: Float)
        indirect case deeper(SampleIntent)
    }
}

struct SampleState: Codable, Equatable, Sendable {
    struct Row: Codable, Equatable, Sendable {
        var id: Int64
        var price: Double?
    }

    struct Page: Codable, Equatable, Sendable {
        var title = ""
        var number: UInt = 0
    }

    var count = 1
    var text: String? = "none"
    var page = Page()
    var rows: [Row] = []
    var flags: [String: Bool] = [:]
}

/// Any JSON value, read through each kind of container.
indirect enum AnyJSON: Codable, Equatable {
    case null
    case bool(Bool)
    /// A large real number may be whole, and would be another value as an integer.
    case number(Double)
    case string(String)
    case array([AnyJSON])
    case object([Member])

    /// Compared by bytes: Swift treats two normalizations of a text as equal.
    struct Member: Equatable {
        let name: String
        let value: AnyJSON

        static func == (left: Member, right: Member) -> Bool {
            left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            let members = try container.allKeys.map {
                Member(name: $0.stringValue, value: try container.decode(AnyJSON.self, forKey: $0))
            }
            self = .object(members)
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [AnyJSON] = []
            while !container.isAtEnd { elements.append(try container.decode(AnyJSON.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            for member in members { try container.encode(member.value, forKey: Key(stringValue: member.name)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null: try single(encoder) { try $0.encodeNil() }
        case .bool(let value): try single(encoder) { try $0.encode(value) }
        case .number(let value): try single(encoder) { try $0.encode(value) }
        case .string(let value): try single(encoder) { try $0.encode(value) }
        }
    }

    private func single(_ encoder: any Encoder, _ write: (inout any SingleValueEncodingContainer) throws -> Void) throws
    {
        var container = encoder.singleValueContainer()
        try write(&container)
    }
}
