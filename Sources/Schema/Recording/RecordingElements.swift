/// A sample array. An `init(from:)` that tests for its end finds one element, or none if the sample's number is 0;
/// others get as many as they read.
struct RecordingElements: UnkeyedDecodingContainer {
    let recording: Recording
    private(set) var currentIndex = 0

    init(recording: Recording) { self.recording = recording }

    var codingPath: [any CodingKey] { [] }
    var count: Int? { recording.sample.number == 0 ? 0 : 1 }
    var isAtEnd: Bool { currentIndex >= count ?? 0 }

    mutating func decodeNil() throws -> Bool { false }
    mutating func decode(_ type: Bool.Type) throws -> Bool { try element(type) }
    mutating func decode(_ type: String.Type) throws -> String { try element(type) }
    mutating func decode(_ type: Double.Type) throws -> Double { try element(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try element(type) }
    mutating func decode(_ type: Int.Type) throws -> Int { try element(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try element(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try element(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try element(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try element(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try element(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element(type) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try element(type) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try element(type) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try element(type) }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try nestedDecoder(type).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nestedDecoder(recording.owner).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { nestedDecoder(recording.owner) }

    private mutating func nestedDecoder(_ name: any Any.Type) -> RecordingDecoder {
        let (nested, type) = recording.nested(named: name)
        recording.note(element: type)
        currentIndex += 1
        return RecordingDecoder(recording: nested)
    }

    private mutating func element<T: Decodable>(_ type: T.Type) throws -> T {
        recording.note(element: recording.recorder.describe(type))
        currentIndex += 1
        return try recording.recorder.value(of: type)
    }
}
