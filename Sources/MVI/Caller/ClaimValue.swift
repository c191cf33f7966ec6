/// The name of a claim or of a member of one. Names are compared by their bytes, since Swift's string comparison treats
/// canonically equivalent texts, such as `K` and a Kelvin sign, as equal.
public struct ClaimName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as the issuer wrote it.
    public let text: String

    /// A name from its text.
    public init(_ text: String) { self.text = text }

    /// `"tier"`.
    public init(stringLiteral value: String) { self.init(value) }

    public static func == (left: ClaimName, right: ClaimName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: text) }

    /// The text.
    public var description: String { text }
}

/// A claim of a principal: any JSON value (RFC 8259). Strings are compared by their bytes, as names are.
public enum ClaimValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// A list.
    case array([ClaimValue])
    /// Members by name.
    case object([ClaimName: ClaimValue])

    /// The string; nil if the claim is not a string.
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The number; nil if the claim is not a number without a fraction.
    public var integer: Int? { if case .integer(let number) = self { number } else { nil } }
    /// The truth value; nil if the claim is not `true` or `false`.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// Returns true if the claim is a list that contains `value`, as `roles` and `groups` often are.
    public func contains(_ value: ClaimValue) -> Bool {
        if case .array(let values) = self { values.contains(value) } else { false }
    }
}

extension ClaimValue: Hashable {
    public static func == (left: ClaimValue, right: ClaimValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(bytesOf: value)
        case .array(let values): hasher.combine(values)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension Hasher {
    /// Combines the bytes of a text. `combine` itself treats canonically equivalent texts as equal.
    mutating func combine(bytesOf text: String) {
        for byte in text.utf8 { combine(byte) }
        combine(0xFF as UInt8)
    }
}

extension ClaimValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `"premium"`.
    public init(stringLiteral value: String) { self = .string(value) }
    /// `3`.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// `true`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// `0.5`.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// `["admin", "editor"]`.
    public init(arrayLiteral elements: ClaimValue...) { self = .array(elements) }
    /// `["city": "Rome"]`.
    public init(dictionaryLiteral elements: (String, ClaimValue)...) {
        self = .object(Dictionary(elements.map { (ClaimName($0), $1) }, uniquingKeysWith: { $1 }))
    }
}

extension ClaimValue: Codable {
    /// Decodes a claim from any decoder that can represent JSON.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: ClaimKey.self) {
            var members: [ClaimName: ClaimValue] = [:]
            for key in container.allKeys {
                members[ClaimName(key.stringValue)] = try container.decode(Self.self, forKey: key)
            }
            self = .object(members)
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var values: [ClaimValue] = []
            while !container.isAtEnd { values.append(try container.decode(Self.self)) }
            self = .array(values)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Encodes the claim as its JSON value.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let values):
            var container = encoder.unkeyedContainer()
            for value in values { try container.encode(value) }
        case .object(let members):
            var container = encoder.container(keyedBy: ClaimKey.self)
            let sorted = members.sorted { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }
            for (name, value) in sorted { try container.encode(value, forKey: ClaimKey(name.text)) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .integer(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .number(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }
}

/// The name of a member, or an index in a list.
struct ClaimKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) { (stringValue, intValue) = (name, nil) }
    init(_ place: Int) { (stringValue, intValue) = ("\(place)", place) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}
