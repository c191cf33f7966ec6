/// A value that recordings, the inspector and logs do not contain: they have a pseudonym in its place.
///
/// Where states are kept and on the way to clients it is written as the value itself, so stored states and the types of
/// clients are the same with and without it.
///
///     struct State: Codable, Equatable, Sendable { var iban: Secret<String>? }
///
/// A recording is made for a replay, so equal values of one journal have equal pseudonyms, which depend on a key of the
/// journal. A replayed turn in which a secret occurs, and which differs, counts as not comparable.
///
/// Texts of errors, ids of work and keys of features are recorded and logged as they are: do not put the value in them.
public struct Secret<Value: Codable & Hashable & Sendable>: Hashable, Sendable {
    private enum Content: Hashable, Sendable {
        case value(Value)
        case pseudonym(String)
    }

    private let content: Content

    /// Creates a secret.
    public init(_ value: Value) { content = .value(value) }

    /// The value; nil in a replay of a recording, which has only a pseudonym.
    public var value: Value? { if case .value(let value) = content { value } else { nil } }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `‹secret›`, without the value.
    public var description: String { "‹secret›" }
    /// `‹secret›`, without the value.
    public var debugDescription: String { description }
    /// A mirror without the value.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Secret: Codable {
    private enum CodingKeys: CodingKey { case secret }

    /// Writes the value, or its pseudonym in a recording.
    public func encode(to encoder: any Encoder) throws {
        let pseudonym: String
        switch content {
        case .pseudonym(let text): pseudonym = text
        case .value(let value):
            guard let name = try SecretCoding.namer(encoder)?.pseudonym(of: value) else {
                return try value.encode(to: encoder)
            }
            pseudonym = name
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(pseudonym, forKey: .secret)
    }

    /// Reads the value; in a replay also a pseudonym.
    public init(from decoder: any Decoder) throws {
        if SecretCoding.readsPseudonyms(decoder),
            let pseudonym = try? decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .secret),
            SecretCoding.isPseudonym(pseudonym)
        {
            content = .pseudonym(pseudonym)
        } else {
            content = .value(try Value(from: decoder))
        }
    }
}

/// Gives pseudonyms to secrets.
package protocol SecretNamer: Sendable {
    /// Returns the pseudonym of a value: see ``SecretCoding/pseudonym(_:)``. Nil to write the value itself.
    func pseudonym(of value: any Encodable) throws -> String?
}

/// The forms in which secrets are written and read, as the user info of encoders and decoders.
package enum SecretCoding {
    private static let namerKey = CodingUserInfoKey(rawValue: "mvi.secrets.namer")
    private static let readingKey = CodingUserInfoKey(rawValue: "mvi.secrets.pseudonyms")

    /// Writes pseudonyms.
    package static func writing(_ namer: any SecretNamer) -> [CodingUserInfoKey: any Sendable] {
        namerKey.map { [$0: namer] } ?? [:]
    }

    /// Reads pseudonyms in the place of values.
    package static let reading: [CodingUserInfoKey: any Sendable] = readingKey.map { [$0: true] } ?? [:]

    /// Writes the same text for each secret, for texts that are not read again.
    package static let hiding = writing(Hidden())

    private struct Hidden: SecretNamer {
        func pseudonym(of value: any Encodable) -> String? { SecretCoding.pseudonym("secret") }
    }

    static func namer(_ encoder: any Encoder) -> (any SecretNamer)? {
        namerKey.flatMap { encoder.userInfo[$0] as? any SecretNamer }
    }

    static func readsPseudonyms(_ decoder: any Decoder) -> Bool {
        readingKey.map { decoder.userInfo[$0] != nil } ?? false
    }

    /// Returns the form of a pseudonym, which is unlikely to be a value.
    package static func pseudonym(_ text: String) -> String { "‹\(text)›" }

    package static func isPseudonym(_ text: String) -> Bool { text.hasPrefix("‹") && text.hasSuffix("›") }

    /// The beginning of a pseudonym's JSON. In a string its quotation marks would be escaped.
    package static let mark = Array(#"{"secret":"‹"#.utf8)

    /// True if pseudonyms stand for secrets in a JSON text without whitespace.
    package static func hasPseudonyms(_ json: [UInt8]) -> Bool { json.firstRange(of: mark) != nil }
}
