import WireJSON

/// A sample object, or the associated values of a case in it.
struct RecordingKeys<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let recording: Recording
    let keyed: KeyedRecording
    var isPayload = false

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { keyed.allNames().compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool {
        keyed.test(name(key))
        return true
    }
    func decodeNil(forKey key: Key) throws -> Bool {
        keyed.test(name(key))
        return false
    }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try scalar(key, false) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        note(key, .string(format: nil))
        return recording.sample.text
    }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try scalar(key, Double(recording.sample.number))
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try scalar(key, Float(recording.sample.number)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        note(key, recording.recorder.describe(type))
        return try recording.recorder.value(of: type)
    }

    /// Returns nil for each type, so that recursive types terminate. The standard library's other `decodeIfPresent`
    /// calls `contains` and `decodeNil`, which also record that the member may be absent.
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        keyed.test(name(key))
        note(key, recording.recorder.describe(type))
        return nil
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        if !isPayload, EnumShape.isPayload(type, in: Key.self, of: recording.owner) {
            keyed.beginPayload((EnumShape.values(of: type) ?? []).map { EnumShape.memberName($0.stringValue) })
            return KeyedDecodingContainer(
                RecordingKeys<Nested>(recording: recording, keyed: keyed, isPayload: true))
        }
        return try nestedDecoder(key, type).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nestedDecoder(key, recording.owner).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let (nested, type) = recording.nested(named: recording.owner)
        keyed.note("super", type, isOptional: false)
        return RecordingDecoder(recording: nested)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { nestedDecoder(key, recording.owner) }

    private func nestedDecoder(_ key: Key, _ name: any Any.Type) -> RecordingDecoder {
        let (nested, type) = recording.nested(named: name)
        note(key, type)
        return RecordingDecoder(recording: nested)
    }

    private func name(_ key: Key) -> String {
        isPayload ? EnumShape.memberName(key.stringValue) : key.stringValue
    }

    private func note(_ key: Key, _ type: WireType) {
        keyed.note(
            name(key), type, isOptional: false, isUnlabelled: isPayload && EnumShape.isUnlabelled(key.stringValue))
    }

    private func integer<Value: FixedWidthInteger & KnownType>(_ key: Key) throws -> Value {
        try scalar(key, Value(recording.sample.number))
    }

    private func scalar<Value: KnownType>(_ key: Key, _ value: Value) throws -> Value {
        note(key, Value.wireType(recording.recorder))
        return value
    }
}
