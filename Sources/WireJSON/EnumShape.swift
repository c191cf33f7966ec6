/// Tells the `Codable` that the compiler wrote for an enum with cases from everything else.
///
/// The compiler nests (SE-0295): `container(keyedBy: CodingKeys.self)`, in it one member named after the case, made
/// with `nestedContainer(keyedBy: AddCodingKeys.self, forKey: .add)`; unlabelled values are `_0`, `_1`, …. On the wire
/// both containers are one object. What a person wrote with `nestedContainer` has to stay nested, so it takes all of
/// this to be flattened: the value is an enum, and the keys of the inner container are called `…CodingKeys`.
enum EnumShape {
    /// The member that names the case.
    static let discriminator = "type"
    /// The member that holds a single unlabelled value.
    static let unlabelled = "value"

    /// Whether the type is an enum, `Optional` apart, which codes itself as the value it wraps.
    static func isEnum(_ type: any Any.Type) -> Bool {
        // A metatype is the address of the type's metadata, whose first word is its kind; kind and layout are part of
        // Swift's stable ABI (docs/ABI/TypeMetadata.rst). Metadata is never freed, and one word is read. There is no
        // other way to ask before a value exists, and names are too slow for every value.
        unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee == 0x201
    }

    /// Whether `inner`, asked for inside a container keyed by `outer`, is the keys of one case of an enum.
    ///
    /// `owner` is the value's type as far as known; a wrapper that hands its coder on to an enum is another type than
    /// the one whose keys these are.
    static func isPayload(_ inner: any Any.Type, in outer: any Any.Type, of owner: any Any.Type) -> Bool {
        if isEnum(owner) { return isPayloadName(_typeName(inner, qualified: false)) }
        let (inner, outer) = (splitName(inner), splitName(outer))
        return inner.context == outer.context && inner.context != _typeName(owner, qualified: true)
            && outer.name == "CodingKeys" && isPayloadName(inner.name)
    }

    /// The wire's name of a member of a case: its label, or `value` for `_0`.
    static func memberName(_ key: String) -> String {
        isUnlabelled(key) ? unlabelled : key
    }

    /// Whether the compiler made the key for a value without a label.
    static func isUnlabelled(_ key: String) -> Bool {
        let bytes = key.utf8
        guard bytes.first == UInt8(ascii: "_"), bytes.count > 1 else { return false }
        return bytes.dropFirst().allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    /// Whether a key type takes only names that its author listed.
    static func isClosed<Key: CodingKey>(_ key: Key.Type) -> Bool {
        Key(stringValue: "\u{0}") == nil
    }

    private static func isPayloadName(_ name: some StringProtocol) -> Bool {
        let suffix = "CodingKeys".utf8
        return name.utf8.count > suffix.count && name.utf8.suffix(suffix.count).elementsEqual(suffix)
    }

    /// The name and what it is declared in. The keys that the compiler makes are private, which the runtime writes as
    /// `Module.Intent.(unknown context at $7f01).AddCodingKeys`, with another number for each.
    private static func splitName(_ type: any Any.Type) -> (context: Substring, name: Substring) {
        let full = _typeName(type, qualified: true)
        // No dot of generic arguments: keys have none of their own.
        guard let dot = full.utf8.lastIndex(of: UInt8(ascii: ".")) else { return ("", full[...]) }
        let name = full[full.utf8.index(after: dot)...]
        let context = full[..<dot]
        guard context.utf8.last == UInt8(ascii: ")"), let bracket = context.utf8.lastIndex(of: UInt8(ascii: "(")),
            bracket > context.startIndex
        else { return (context, name) }
        return (context[..<context.utf8.index(before: bracket)], name)
    }
}
