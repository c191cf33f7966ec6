/// The members of an object. An enum's container of the case and the container of its payload are the same object.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let session: DecodingSession
    let node: Int
    /// The type that is being decoded.
    let owner: any Any.Type
    /// True if the keys belong to one case's associated values.
    var isPayload = false
    /// The object that supplies absent members.
    var fill: Int?

    var codingPath: [any CodingKey] { session.path(to: node) }

    /// The keys; for a synthesized enum, the single case that `type` names.
    var allKeys: [Key] {
        if !isPayload, let key = caseKey() {
            session.foundCase = node
            // A literal would request the array's metadata once more.
            return Array(repeating: key, count: 1)
        }
        let keys = session.names(of: node).compactMap { Key(stringValue: $0) }
        // The author sees all names, so those that are keys count as read.
        if session.notesReads { for key in keys { _ = session.value(of: node, named: key.stringValue) } }
        return keys
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try session.kind(value(key)) == .null }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try session.bool(value(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try session.string(value(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try session.double(value(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try session.float(value(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try session.integer(value(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try session.integer(value(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try session.integer(value(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try session.integer(value(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try session.integer(value(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try session.integer(value(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try session.integer(value(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try session.integer(value(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try session.integer(value(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try session.integer(value(key)) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try session.decode(type, at: value(key))
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try session.integer(value(key)) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try session.integer(value(key)) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        if !isPayload, try isPayload(type, of: key) {
            return KeyedDecodingContainer(
                KeyedDecoding<Nested>(session: session, node: node, owner: owner, isPayload: true))
        }
        return try nestedDecoder(value(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nestedDecoder(value(key)).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        guard let value = find("super") else { throw missing("super") }
        return nestedDecoder(value)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try nestedDecoder(value(key)) }

    /// Returns a decoder of a value that is not known to be an enum.
    private func nestedDecoder(_ node: Int) -> ValueDecoder {
        ValueDecoder(session: session, node: node, owner: Void.self)
    }

    private func name(_ key: Key) -> String {
        isPayload ? EnumShape.memberName(key.stringValue) : key.stringValue
    }

    func find(_ key: Key) -> Int? { find(name(key)) }

    @inline(__always)
    private func find(_ name: String) -> Int? {
        guard let fill else { return session.value(of: node, named: name) }
        return session.value(of: node, filledFrom: fill, named: name)
    }

    private func value(_ key: Key) throws -> Int {
        if let value = find(key) { return value }
        let mismatch = Mismatch(node: node, member: name(key), detail: "this member is missing")
        throw DecodingError.keyNotFound(key, mismatch.context)
    }

    private func missing(_ name: String) -> DecodingError {
        Mismatch(node: node, member: name, detail: "this member is missing").corrupted
    }
}

extension KeyedDecoding {
    /// Returns the case that the object's `type` names. If there is none, returns nil and stores the reason in the
    /// session.
    ///
    /// This also applies to types with closed keys without `type` that are not enums, since they may be wrappers that
    /// pass their decoder on to an enum.
    @inline(__always)
    private func caseKey() -> Key? {
        guard EnumShape.isClosed(Key.self),
            EnumShape.isEnum(owner) || Key(stringValue: EnumShape.discriminator) == nil
                || EnumShape.areCaseKeys(Key.self)
        else { return nil }
        let member = EnumShape.discriminator
        guard let type = session.value(of: node, named: member) else {
            session.missingCase = Mismatch(node: node, member: member, detail: "this member is missing")
            return nil
        }
        guard session.kind(type) == .string else {
            session.missingCase = Mismatch(node: node, member: member, detail: "expected a string")
            return nil
        }
        let name = session.text(type)
        if let key = Key(stringValue: name) { return key }
        let short = String(name.prefix(64))
        session.missingCase = Mismatch(
            node: node, member: member, detail: "unknown type \"\(short)\"", unknownType: short)
        return nil
    }

    /// Returns true if a nested container is the payload of the case that the object's `type` names.
    private func isPayload(_ type: any CodingKey.Type, of key: Key) throws -> Bool {
        // The case was just found and there is nothing nested, so type names need not be compared.
        if session.foundCase == node, find(key) == nil { return true }
        guard isPayloadKeys(type) else { return false }
        try requireCase(key)
        return true
    }

    private func requireCase(_ key: Key) throws {
        guard let named = caseKey(), named.stringValue == key.stringValue else {
            if let reason = session.missingCase, reason.node == node { throw reason.corrupted }
            throw missing(EnumShape.discriminator)
        }
    }

    private func isPayloadKeys(_ type: any CodingKey.Type) -> Bool {
        if session.payloadKeys == ObjectIdentifier(type) { return true }
        guard EnumShape.isPayload(type, in: Key.self, of: owner) else { return false }
        session.payloadKeys = ObjectIdentifier(type)
        return true
    }
}
