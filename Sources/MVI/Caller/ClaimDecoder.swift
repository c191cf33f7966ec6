/// Decodes claims into a type of the application.
struct ClaimDecoder: Decoder {
    let value: ClaimValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ value: ClaimValue, at path: [any CodingKey] = []) {
        self.value = value
        codingPath = path
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: ClaimValue].self, "an object") }
        return KeyedDecodingContainer(Members(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let values) = value else { throw mismatch([ClaimValue].self, "a list") }
        return Values(values: values, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    fileprivate func mismatch(_ type: any Any.Type, _ expected: String) -> DecodingError {
        DecodingError.typeMismatch(
            type, .init(codingPath: codingPath, debugDescription: "The claim is not \(expected)."))
    }

    fileprivate func at(_ key: any CodingKey, _ value: ClaimValue) -> ClaimDecoder {
        ClaimDecoder(value, at: codingPath + [key])
    }
}

extension ClaimDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    /// Decodes the basic types itself; other types decode themselves from this decoder.
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let found: Any
        switch type {
        case is Bool.Type: found = try need(value.bool, type, "true or false")
        case is String.Type: found = try need(value.string, type, "a string")
        case is Double.Type: found = try number()
        case is Float.Type: found = Float(try number())
        case let type as any FixedWidthInteger.Type: found = try whole(type)
        default: return try T(from: self)
        }
        return try need(found as? T, type, "a value")
    }

    private func need<T>(_ found: T?, _ type: any Any.Type, _ expected: String) throws -> T {
        guard let found else { throw mismatch(type, expected) }
        return found
    }

    private func number() throws -> Double {
        switch value {
        case .number(let value): value
        case .integer(let value): Double(value)
        default: throw mismatch(Double.self, "a number")
        }
    }

    private func whole<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        guard let number = value.integer, let value = T(exactly: number) else {
            throw mismatch(type, "a whole number that \(type) can hold")
        }
        return value
    }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [ClaimName: ClaimValue]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0.text) } }
    func contains(_ key: Key) -> Bool { members[ClaimName(key.stringValue)] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try T(from: decoder(key)) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { ClaimDecoder(.object(members), at: codingPath) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

    private func decoder(_ key: Key) throws -> ClaimDecoder {
        guard let value = members[ClaimName(key.stringValue)] else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "There is no claim \"\(key.stringValue)\"."))
        }
        return ClaimDecoder(value, at: codingPath + [key])
    }
}

private struct Values: UnkeyedDecodingContainer {
    let values: [ClaimValue]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(values: [ClaimValue], codingPath: [any CodingKey]) {
        (self.values, self.codingPath) = (values, codingPath)
    }

    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex == values.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, values[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try T(from: next())
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        defer { currentIndex += 1 }
        return try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        defer { currentIndex += 1 }
        return try next().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder {
        defer { currentIndex += 1 }
        return try next()
    }

    private func next() throws -> ClaimDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                ClaimValue.self, .init(codingPath: codingPath, debugDescription: "The list has no more values."))
        }
        return ClaimDecoder(values[currentIndex], at: codingPath + [ClaimKey(currentIndex)])
    }
}
