import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

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

/// The forms in which encoders and decoders of the running thread write and read secrets. Not a task-local value: in an
/// optimized build of Swift 6.3.1, `TaskLocal.withValue` crashes in code that is not asynchronous.
package enum SecretCoding {
    private struct Form {
        var pseudonym: (@Sendable (any Encodable) throws -> String)?
        var reading: SecretCount?
    }

    /// By thread. A form is there only while a call of that thread runs.
    private static let forms = Lock<[UInt: Form]>([:])

    private static var thread: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    private static func with<Result>(_ change: (inout Form) -> Void, _ body: () throws -> Result) rethrows -> Result {
        let thread = thread
        let before = forms.withLock { forms in
            let before = forms[thread]
            var form = before ?? Form()
            change(&form)
            forms[thread] = form
            return before
        }
        defer { forms.withLock { $0[thread] = before } }
        return try body()
    }

    private static var form: Form? {
        let thread = thread
        return forms.withLock { $0[thread] }
    }

    /// Returns the pseudonym to write for a value; nil to write values.
    static var pseudonym: (@Sendable (any Encodable) throws -> String)? { form?.pseudonym }
    /// Counts the pseudonyms that are read; nil if there are none.
    package static var reading: SecretCount? { form?.reading }

    /// Runs `body`, in which secrets are written as what `pseudonym` returns for their values.
    package static func writing<Result>(
        _ pseudonym: @escaping @Sendable (any Encodable) throws -> String, _ body: () throws -> Result
    ) rethrows -> Result {
        try with({ $0.pseudonym = pseudonym }, body)
    }

    /// Runs `body`, in which pseudonyms are read and counted.
    package static func reading<Result>(_ count: SecretCount, _ body: () throws -> Result) rethrows -> Result {
        try with({ $0.reading = count }, body)
    }

    /// Returns the form of a pseudonym, which is unlikely to be a value.
    package static func pseudonym(_ text: String) -> String { "‹\(text)›" }

    package static func isPseudonym(_ text: String) -> Bool { text.hasPrefix("‹") && text.hasSuffix("›") }

    /// Writes no secret value, for texts that are not read again.
    package static func hidden<Result>(_ body: () throws -> Result) rethrows -> Result {
        try writing({ _ in pseudonym("secret") }, body)
    }
}
