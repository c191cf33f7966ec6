import Foundation
import WireJSON

/// Any JSON value: read through each kind of container, and comparable with what Foundation makes of the same text.
indirect enum AnyValue: Codable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case string([UInt8])
    case array([AnyValue])
    case object([Name: AnyValue])

    /// Compared as bytes: Swift's `==` takes two normalisations of a text for one.
    struct Name: Hashable {
        let bytes: [UInt8]
        init(_ text: String) { bytes = Array(text.utf8) }
    }

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            var members: [Name: AnyValue] = [:]
            for key in container.allKeys {
                members[Name(key.stringValue)] = try container.decode(AnyValue.self, forKey: key)
            }
            self = .object(members)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [AnyValue] = []
            while !container.isAtEnd { elements.append(try container.decode(AnyValue.self)) }
            self = .array(elements)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(String.self) {
                self = .string(Array(value.utf8))
            } else if let value = try? container.decode(Int64.self) {
                self = .integer(value)
            } else {
                self = .real(try container.decode(Double.self))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            for (name, value) in members {
                try container.encode(value, forKey: Key(stringValue: String(decoding: name.bytes, as: UTF8.self)))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .integer(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .real(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(String(decoding: value, as: UTF8.self))
        }
    }

    /// Numbers are compared by value: `5` and `5.0` are the same, and Foundation rounds where it is asked for an
    /// integer and finds a large number with a fraction.
    static func == (one: AnyValue, other: AnyValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.real(let one), .real(let other)): one == other
        case (.integer(let one), .real(let other)), (.real(let other), .integer(let one)):
            abs(Double(one) - other) <= other.ulp
        case (.string(let one), .string(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    /// Returns the result of Foundation's decoder; nil if it refuses the text.
    static func oracle(_ bytes: [UInt8]) -> AnyValue? {
        try? JSONDecoder().decode(AnyValue.self, from: Data(bytes))
    }
}
