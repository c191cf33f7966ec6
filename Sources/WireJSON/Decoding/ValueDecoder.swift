/// The `Decoder` of one value. It has three words, so that boxing it as `any Decoder` allocates nothing.
struct ValueDecoder: Decoder {
    let session: DecodingSession
    let node: Int
    /// The type that is being decoded.
    let owner: any Any.Type

    var codingPath: [any CodingKey] { session.path(to: node) }
    var userInfo: [CodingUserInfoKey: Any] { session.userInfo ?? [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard session.kind(node) == .object else {
            throw session.wrongKind(node, expected: "an object", [String: Any].self)
        }
        // Left over from a type that was tried on the same object before.
        session.foundCase = nil
        var container = KeyedDecoding<Key>(session: session, node: node, owner: owner)
        if session.filling != nil { container.fill = session.fill(of: node, keyedBy: type, owner: owner) }
        return KeyedDecodingContainer(container)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try UnkeyedDecoding(session: session, node: node, owner: owner)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { session.kind(node) == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try session.bool(node) }
    func decode(_ type: String.Type) throws -> String { try session.string(node) }
    func decode(_ type: Double.Type) throws -> Double { try session.double(node) }
    func decode(_ type: Float.Type) throws -> Float { try session.float(node) }
    func decode(_ type: Int.Type) throws -> Int { try session.integer(node) }
    func decode(_ type: Int8.Type) throws -> Int8 { try session.integer(node) }
    func decode(_ type: Int16.Type) throws -> Int16 { try session.integer(node) }
    func decode(_ type: Int32.Type) throws -> Int32 { try session.integer(node) }
    func decode(_ type: Int64.Type) throws -> Int64 { try session.integer(node) }
    func decode(_ type: UInt.Type) throws -> UInt { try session.integer(node) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try session.integer(node) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try session.integer(node) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try session.integer(node) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try session.integer(node) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try session.decode(type, at: node) }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: Int128.Type) throws -> Int128 { try session.integer(node) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 { try session.integer(node) }
}
