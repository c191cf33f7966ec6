/// Tells the `Codable` that the compiler wrote for an enum with cases from everything else.
///
/// The compiler nests (SE-0295): `container(keyedBy: CodingKeys.self)`, in it one member named after the case, made
/// with `nestedContainer(keyedBy: AddCodingKeys.self, forKey: .add)`; unlabelled values are `_0`, `_1`, …. On the wire
/// both containers are one object. What a person wrote with `nestedContainer` has to stay nested, so it takes all of
/// this to be flattened: the value, or else the type of the outer keys, is of an enum, and the keys of the inner container
/// are called `…CodingKeys`.
package enum EnumShape {
    /// The member that names the case.
    package static let discriminator = "type"
    /// The member that holds a single unlabelled value.
    package static let unlabelled = "value"

    /// Returns true if the type is an enum, `Optional` apart, which codes itself as the value it wraps.
    package static func isEnum(_ type: any Any.Type) -> Bool {
        // A metatype is the address of the type's metadata, whose first word is its kind; kind and layout are part of
        // Swift's stable ABI (docs/ABI/TypeMetadata.rst). Metadata is never freed, and one word is read. There is no
        // other way to ask before a value exists, and names are too slow for every value.
        unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee == 0x201
    }

    /// Returns true if `inner`, asked for inside a container keyed by `outer`, is the keys of one case of an enum.
    ///
    /// `owner` is the value's type as far as known; when a wrapper hands its coder on to an enum it is the wrapper, and
    /// the keys have to tell.
    package static func isPayload(_ inner: any Any.Type, in outer: any Any.Type, of owner: any Any.Type) -> Bool {
        let name = _typeName(inner, qualified: false).utf8
        let suffix = "CodingKeys".utf8
        return name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
            && (isEnum(owner) || areCaseKeys(outer))
    }

    /// Returns true if a type is called `CodingKeys` and declared in an enum, going by its mangled name: there `O` ends an
    /// enum, as in `3App6IntentO10CodingKeysO`. Private types, as the compiler makes them, have a context of their
    /// own in between: `3App6IntentO13$7f0123456789yXZ10CodingKeysO`.
    package static func areCaseKeys(_ keys: any Any.Type) -> Bool {
        guard let mangled = _mangledTypeName(keys).map({ Array($0.utf8) }) else { return false }
        let ending = Array("10CodingKeysO".utf8)
        guard mangled.count > ending.count,
            let start = (1...mangled.count - ending.count).last(where: { mangled[$0...].starts(with: ending) })
        else { return false }
        var context = mangled[..<start]
        if context.suffix(3).elementsEqual("yXZ".utf8), let dollar = context.lastIndex(of: UInt8(ascii: "$")) {
            context = context[..<dollar]
            while let last = context.last, last >= UInt8(ascii: "0"), last <= UInt8(ascii: "9") { context.removeLast() }
        }
        // Generic arguments stand between `y` and `G` behind the type: `3App6IntentOySiG`.
        if context.last == UInt8(ascii: "G") {
            let kind = context.indices.dropLast().first {
                context[$0 + 1] == UInt8(ascii: "y") && "OVC".utf8.contains(context[$0])
            }
            return kind.map { context[$0] == UInt8(ascii: "O") } ?? false
        }
        return context.last == UInt8(ascii: "O")
    }

    /// The wire's name of a member of a case: its label, or `value` for `_0`.
    package static func memberName(_ key: String) -> String {
        isUnlabelled(key) ? unlabelled : key
    }

    /// Returns true if the compiler made the key for a value without a label.
    package static func isUnlabelled(_ key: String) -> Bool {
        let bytes = key.utf8
        guard bytes.first == UInt8(ascii: "_"), bytes.count > 1 else { return false }
        return bytes.dropFirst().allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    /// Returns true if a key type takes only names that its author listed.
    @inline(__always)
    package static func isClosed<Key: CodingKey>(_ key: Key.Type) -> Bool {
        Key(stringValue: "\u{0}") == nil
    }

    /// All values of an enum whose cases have no associated values, in order of declaration; nil for everything else, for
    /// more than 254 of them, and for none.
    ///
    /// The compiler lists the cases nowhere, so this goes by the layout that the ABI fixes: one case takes no byte; else the
    /// values are the bytes from 0 on, and the first byte that is no value stands for the optional's nil. An enum with a
    /// payload of one byte looks alike, so a caller tests each value, by its raw value or its key's name.
    package static func values<Value>(of _: Value.Type) -> [Value]? {
        guard isEnum(Value.self) else { return nil }
        switch (MemoryLayout<Value>.size, MemoryLayout<Value?>.size) {
        case (0, 1): return [unsafeBitCast((), to: Value.self)]
        case (1, 1):
            let count = unsafeBitCast(Value?.none, to: UInt8.self)
            return (0..<count).map { unsafeBitCast($0, to: Value.self) }
        default: return nil
        }
    }
}
