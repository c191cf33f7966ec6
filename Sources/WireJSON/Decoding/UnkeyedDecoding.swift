/// The elements of an array, in order. As the protocol requires, an element that cannot be decoded is not skipped.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    private let session: DecodingSession
    private let node: Int
    private let elements: Int
    private var next: Int
    private(set) var currentIndex = 0

    /// - Parameter owner: the type that is being decoded. A dictionary reads the names and values of an object in turn.
    init(session: DecodingSession, node: Int, owner: any Any.Type = Void.self) throws {
        let isNamed = session.kind(node) == .object && (owner as? any NamedKeys.Type)?.areKeysNames == true
        guard session.kind(node) == .array || isNamed else {
            throw session.wrongKind(node, expected: "an array", [Any].self)
        }
        self.session = session
        self.node = node
        elements = Int(session.nodes[node].length) * (isNamed ? 2 : 1)
        if isNamed { session.markNames(of: node) }
        next = node + 1
    }

    var codingPath: [any CodingKey] { session.path(to: node) }
    var count: Int? { elements }
    var isAtEnd: Bool { currentIndex == elements }

    mutating func decodeNil() throws -> Bool {
        let isNil = try session.kind(element()) == .null
        if isNil { advance() }
        return isNil
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try readElement { try $0.bool($1) } }
    mutating func decode(_ type: String.Type) throws -> String { try readElement { try $0.string($1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try readElement { try $0.double($1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try readElement { try $0.float($1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try readElement { try $0.integer($1) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try readElement { try $0.integer($1) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // Used by arrays of these types for each element.
        if T.self == Int.self { return same(try decode(Int.self)) }
        if T.self == String.self { return same(try decode(String.self)) }
        if T.self == Double.self { return same(try decode(Double.self)) }
        let value = try session.decode(type, at: element())
        advance()
        return value
    }

    /// Returns a value as `T`, its actual type, which the compiler does not know.
    private func same<Value, T>(_ value: Value) -> T {
        guard let value = value as? T else { preconditionFailure("\(Value.self) is not \(T.self)") }
        return value
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try readElement { try $0.integer($1) } }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try readElement { try $0.integer($1) } }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try readElement { try Self.nestedDecoder($0, $1).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try readElement { try Self.nestedDecoder($0, $1).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try readElement { Self.nestedDecoder($0, $1) } }

    private static func nestedDecoder(_ session: DecodingSession, _ node: Int) -> ValueDecoder {
        ValueDecoder(session: session, node: node, owner: Void.self)
    }

    private func element() throws -> Int {
        guard isAtEnd else { return next }
        let mismatch = Mismatch(
            node: node, member: String(elements), detail: "expected an element, found the end of the array")
        throw DecodingError.valueNotFound(Any.self, mismatch.context)
    }

    private mutating func advance() {
        next = Int(session.nodes[next].next)
        currentIndex += 1
    }

    private mutating func readElement<Value>(_ read: (DecodingSession, Int) throws -> Value) throws -> Value {
        let value = try read(session, element())
        advance()
        return value
    }
}
