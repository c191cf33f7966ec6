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
            guard let pseudonymOf = SecretCoding.pseudonym else { return try value.encode(to: encoder) }
            pseudonym = try pseudonymOf(value)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(pseudonym, forKey: .secret)
    }

    /// Reads the value; in a replay also a pseudonym.
    public init(from decoder: any Decoder) throws {
        if let reading = SecretCoding.reading, let container = try? decoder.container(keyedBy: CodingKeys.self),
            let pseudonym = try? container.decode(String.self, forKey: .secret),
            SecretCoding.isPseudonym(pseudonym)
        {
            reading.count()
            content = .pseudonym(pseudonym)
        } else {
            content = .value(try Value(from: decoder))
        }
    }
}

/// The forms in which secrets are written and read by the running task.
package enum SecretCoding {
    /// Returns the pseudonym to write for a value; nil to write values.
    @TaskLocal package static var pseudonym: (@Sendable (any Encodable) throws -> String)?
    /// Counts the pseudonyms that are read; nil if there are none.
    @TaskLocal package static var reading: SecretCount?

    /// Returns the form of a pseudonym, which is unlikely to be a value.
    package static func pseudonym(_ text: String) -> String { "‹\(text)›" }

    package static func isPseudonym(_ text: String) -> Bool { text.hasPrefix("‹") && text.hasSuffix("›") }

    /// Writes no secret value, for texts that are not read again.
    package static func hidden<Result>(_ body: () throws -> Result) rethrows -> Result {
        try $pseudonym.withValue({ _ in pseudonym("secret") }, operation: body)
    }
}
