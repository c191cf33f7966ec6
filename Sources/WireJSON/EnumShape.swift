/// Distinguishes the synthesized `Codable` conformance of an enum with cases from all others.
///
/// The compiler nests (SE-0295): `container(keyedBy: CodingKeys.self)` has one member named after the case, created
/// with `nestedContainer(keyedBy: AddCodingKeys.self, forKey: .add)`; unlabeled values are `_0`, `_1`, …. In the API's
/// JSON both containers are one object. Hand-written uses of `nestedContainer` must stay nested. So a container is
/// flattened only if the value, or else the type of the outer keys, is an enum, and the inner keys are called
/// `…CodingKeys`.
package enum EnumShape {
    /// The member that contains the name of the case.
    package static let discriminator = "type"
    /// The member that contains a single unlabeled value.
    package static let unlabelled = "value"

    /// Returns true for an enum, except `Optional`, which is encoded as its wrapped value.
    package static func isEnum(_ type: any Any.Type) -> Bool {
        // A metatype is the address of the type's metadata, whose first word is its kind. Kind and layout are part of
        // Swift's stable ABI (docs/ABI/TypeMetadata.rst). Metadata is never freed, and one word is read. Before a value
        // exists there is no other way, and comparing names is too slow for each value.
        unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee == 0x201
    }

    /// Returns true if `inner`, requested inside a container keyed by `outer`, is the keys of one case of an enum.
    ///
    /// `owner` is the value's type as far as known. If a wrapper passes its coder on to an enum, it is the wrapper, and
    /// the keys decide.
    package static func isPayload(_ inner: any Any.Type, in outer: any Any.Type, of owner: any Any.Type) -> Bool {
        let isCalledSo = _typeName(inner, qualified: false).withUTF8Span { name in
            // By index: comparing slices costs 1,300 instructions.
            let start = name.count - suffix.count
            return start > 0 && suffix.indices.allSatisfy { name[start + $0] == suffix[$0] }
        }
        return isCalledSo && (isEnum(owner) || areCaseKeys(outer))
    }

    private static let suffix = Array("CodingKeys".utf8)

    /// Returns true if a type is called `CodingKeys` and declared in an enum, according to its mangled name: `O` ends
    /// an enum, as in `3App6IntentO10CodingKeysO`. Private types, such as synthesized ones, have another context in
    /// between: `3App6IntentO13$7f0123456789yXZ10CodingKeysO`.
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
        // Generic arguments are between `y` and `G` after the type: `3App6IntentOySiG`.
        if context.last == UInt8(ascii: "G") {
            let kind = context.indices.dropLast().first {
                context[$0 + 1] == UInt8(ascii: "y") && "OVC".utf8.contains(context[$0])
            }
            return kind.map { context[$0] == UInt8(ascii: "O") } ?? false
        }
        return context.last == UInt8(ascii: "O")
    }

    /// Returns the JSON name of a case's member: its label, or `value` for `_0`.
    package static func memberName(_ key: String) -> String {
        isUnlabelled(key) ? unlabelled : key
    }

    /// Returns true if the compiler created the key for an unlabeled value.
    package static func isUnlabelled(_ key: String) -> Bool {
        let bytes = key.utf8
        guard bytes.first == UInt8(ascii: "_"), bytes.count > 1 else { return false }
        return bytes.dropFirst().allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    /// Returns true if a key type accepts only names that its author listed.
    @inline(__always)
    package static func isClosed<Key: CodingKey>(_ key: Key.Type) -> Bool {
        Key(stringValue: "\u{0}") == nil
    }

    /// Returns all values of an enum whose cases have no associated values, in order of declaration; nil for other
    /// types, for more than 254 values, and for none.
    ///
    /// The cases are not listed in metadata, so this depends on the layout in the ABI: a single case takes no byte;
    /// otherwise the values are the bytes from 0 on, and the first byte that is not a value represents the optional's
    /// nil. An enum with a payload of one byte looks the same, so callers test each value by its raw value or its key's
    /// name.
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
