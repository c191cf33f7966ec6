/// An array's elements.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.session.isCurrent(encoder) ? encoder.session.current.count : 0 }

    func encodeNil() throws { try element { $0.append(contentsOf: "null".utf8) } }
    func encode(_ value: Bool) throws { try element { $0.append(contentsOf: (value ? "true" : "false").utf8) } }
    func encode(_ value: String) throws { try element { EscapedText.append(value, to: &$0) } }
    func encode(_ value: Double) throws { try finite(value) }
    func encode(_ value: Float) throws { try finite(value) }
    func encode(_ value: Int) throws { try integer(value) }
    func encode(_ value: Int8) throws { try integer(value) }
    func encode(_ value: Int16) throws { try integer(value) }
    func encode(_ value: Int32) throws { try integer(value) }
    func encode(_ value: Int64) throws { try integer(value) }
    func encode(_ value: UInt) throws { try integer(value) }
    func encode(_ value: UInt8) throws { try integer(value) }
    func encode(_ value: UInt16) throws { try integer(value) }
    func encode(_ value: UInt32) throws { try integer(value) }
    func encode(_ value: UInt64) throws { try integer(value) }
    func encode<T: Encodable>(_ value: T) throws {
        // What an array of these asks for, for each element.
        if T.self == Int.self, let value = value as? Int { return try encode(value) }
        if T.self == String.self, let value = value as? String { return try encode(value) }
        if T.self == Double.self, let value = value as? Double { return try encode(value) }
        try beginning { try $0.encode(value) }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: Int128) throws { try integer(value) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: UInt128) throws { try integer(value) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        nestedEncoder().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nestedEncoder().unkeyedContainer() }
    func superEncoder() -> any Encoder { nestedEncoder() }

    private func integer<Integer: FixedWidthInteger>(_ value: Integer) throws {
        try element { NumberText.append(value, to: &$0) }
    }

    private func finite<Value: BinaryFloatingPoint & CustomStringConvertible>(_ value: Value) throws {
        try beginning { session in
            guard NumberText.append(value, to: &session.bytes) else {
                throw session.error(ValueEncoder.notFinite).thrown
            }
        }
    }

    private func element(_ write: (inout [UInt8]) -> Void) throws {
        try begin()
        write(&encoder.session.bytes)
    }

    /// As `element`, for values that may fail: then the element is as if it had never been begun.
    private func beginning(_ write: (EncodingSession) throws -> Void) throws {
        guard encoder.session.isCurrent(encoder) else { throw tooLate }
        let mark = encoder.session.mark()
        do {
            try begin()
            try write(encoder.session)
        } catch {
            encoder.session.restore(mark)
            throw error
        }
    }

    private func begin() throws {
        let session = encoder.session
        guard session.isCurrent(encoder), session.current.form == .array else { throw tooLate }
        if session.current.count > 0 { session.bytes.append(UInt8(ascii: ",")) }
        session.current.count += 1
    }

    private var tooLate: EncodingError { encoder.session.error(ValueEncoder.usedTooLate).thrown }

    private func nestedEncoder() -> ValueEncoder {
        do {
            try begin()
            return encoder.session.nest()
        } catch {
            encoder.session.failure = encoder.session.failure ?? WireEncodingError(inside: error)
            return EncodingSession().root(Void.self)
        }
    }
}
