import WireJSON

/// The `Decoder` of a sample value.
struct RecordingDecoder: Decoder {
    let recording: Recording

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(
            RecordingKeys<Key>(
                recording: recording, keyed: recording.beginObject(Self.closedKeys(type, recording.owner))))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        recording.beginArray()
        return RecordingElements(recording: recording)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { RecordingValue(recording: recording) }

    /// Returns the keys if their type accepts no others.
    static func closedKeys<Key: CodingKey>(_ type: Key.Type, _ owner: any Any.Type) -> ClosedKeys? {
        guard EnumShape.isClosed(type) else { return nil }
        let names = (EnumShape.values(of: type) ?? []).map(\.stringValue).filter { Key(stringValue: $0) != nil }
        return ClosedKeys(names: names, areCases: EnumShape.isEnum(owner) || EnumShape.areCaseKeys(type))
    }
}

/// A single sample value.
struct RecordingValue: SingleValueDecodingContainer {
    let recording: Recording

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool {
        recording.noteNil()
        return false
    }
    func decode(_ type: Bool.Type) throws -> Bool { try scalar(false) }
    func decode(_ type: String.Type) throws -> String {
        try recording.note(single: .string(format: recording.sample.format))
        return recording.sample.text
    }
    func decode(_ type: Double.Type) throws -> Double { try scalar(Double(recording.sample.number)) }
    func decode(_ type: Float.Type) throws -> Float { try scalar(Float(recording.sample.number)) }
    func decode(_ type: Int.Type) throws -> Int { try scalar(recording.sample.number) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try recording.note(single: recording.recorder.describe(type))
        return try recording.recorder.value(of: type)
    }

    private func integer<Value: FixedWidthInteger & KnownType>() throws -> Value {
        try scalar(Value(recording.sample.number))
    }

    private func scalar<Value: KnownType>(_ value: Value) throws -> Value {
        try recording.note(single: Value.wireType(recording.recorder))
        return value
    }
}
