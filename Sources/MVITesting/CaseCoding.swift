import WireJSON

/// The coding keys of an enum, one for each case, as collected by the coders below.
final class CaseKeys {
    /// All keys in order; nil if the type is not a plain enum.
    private(set) var names: [String]?
    /// The first key that a value was encoded under.
    var used: String?

    func take<Key: CodingKey>(_: Key.Type) {
        if names == nil { names = EnumShape.values(of: Key.self)?.map(\.stringValue) }
    }
}

/// Collects the keys that a type reads, without decoding values.
struct CaseDecoder: Decoder {
    struct Nothing: Error {}

    let keys = CaseKeys()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        keys.take(type)
        throw Nothing()
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Nothing() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Nothing() }
}

/// Collects the key that a value is encoded under, without encoding values.
struct CaseEncoder: Encoder {
    let keys = CaseKeys()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(encoder: self))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(encoder: self) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    private func note(_ key: any CodingKey) {
        if keys.used == nil { keys.used = key.stringValue }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: CaseEncoder
        var codingPath: [any CodingKey] { [] }

        func encodeNil(forKey key: Key) { encoder.note(key) }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) { encoder.note(key) }
        func nestedContainer<Nested: CodingKey>(
            keyedBy _: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            encoder.note(key)
            return encoder.container(keyedBy: Nested.self)
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            encoder.note(key)
            return encoder.unkeyedContainer()
        }
        func superEncoder() -> any Encoder { encoder }
        func superEncoder(forKey key: Key) -> any Encoder {
            encoder.note(key)
            return encoder
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let encoder: CaseEncoder
        var codingPath: [any CodingKey] { [] }
        var count: Int { 0 }

        func encodeNil() {}
        func encode<Value: Encodable>(_ value: Value) {}
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            encoder.container(keyedBy: type)
        }
        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
        func superEncoder() -> any Encoder { encoder }
    }

    private struct Single: SingleValueEncodingContainer {
        let encoder: CaseEncoder
        var codingPath: [any CodingKey] { [] }

        func encodeNil() {}
        func encode<Value: Encodable>(_ value: Value) {}
    }
}
