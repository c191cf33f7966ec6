/// The elements of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.session.isCurrent(encoder) ? encoder.session.current.count : 0 }

    func encodeNil() throws {
        try begin()
        encoder.session.bytes += LiteralText.null
    }
    func encode(_ value: Bool) throws {
        try begin()
        encoder.session.bytes += LiteralText.of(value)
    }
    func encode(_ value: String) throws {
        try begin()
        EscapedText.append(value, to: &encoder.session.bytes)
    }
    func encode(_ value: Double) throws {
        guard value.isFinite else { return try refuse() }
        try begin()
        NumberText.append(finite: value, to: &encoder.session.bytes)
    }
    func encode(_ value: Float) throws {
        guard value.isFinite else { return try refuse() }
        try begin()
        NumberText.append(finite: value, to: &encoder.session.bytes)
    }
    func encode(_ value: Int) throws { try integer(Int64(value)) }
    func encode(_ value: Int8) throws { try integer(Int64(value)) }
    func encode(_ value: Int16) throws { try integer(Int64(value)) }
    func encode(_ value: Int32) throws { try integer(Int64(value)) }
    func encode(_ value: Int64) throws { try integer(Int64(value)) }
    func encode(_ value: UInt) throws { try integer(UInt64(value)) }
    func encode(_ value: UInt8) throws { try integer(UInt64(value)) }
    func encode(_ value: UInt16) throws { try integer(UInt64(value)) }
    func encode(_ value: UInt32) throws { try integer(UInt64(value)) }
    func encode(_ value: UInt64) throws { try integer(UInt64(value)) }
    func encode<T: Encodable>(_ value: T) throws {
        // Used by arrays of these types for each element.
        if T.self == Int.self, let value = value as? Int { return try encode(value) }
        if T.self == String.self, let value = value as? String { return try encode(value) }
        if T.self == Double.self, let value = value as? Double { return try encode(value) }
        try beginning { try $0.encode(value) }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: Int128) throws {
        try begin()
        NumberText.append(wide: value, to: &encoder.session.bytes)
    }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: UInt128) throws {
        try begin()
        NumberText.append(wide: value, to: &encoder.session.bytes)
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        nestedEncoder().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nestedEncoder().unkeyedContainer() }
    func superEncoder() -> any Encoder { nestedEncoder() }

    private func integer(_ value: Int64) throws {
        try begin()
        NumberText.append(value.magnitude, isNegative: value < 0, to: &encoder.session.bytes)
    }

    private func integer(_ value: UInt64) throws {
        try begin()
        NumberText.append(value, to: &encoder.session.bytes)
    }

    private func begin() throws { try encoder.session.beginElement(of: encoder) }

    /// Begins an element whose value may fail. If it does, the element is removed.
    private func beginning(_ write: (EncodingSession) throws -> Void) throws {
        guard encoder.session.isCurrent(encoder) else { throw encoder.session.tooLate }
        let mark = encoder.session.mark()
        do {
            try begin()
            try write(encoder.session)
        } catch {
            encoder.session.restore(mark)
            throw error
        }
    }

    /// Throws the error for NaN and infinities, which JSON cannot represent.
    private func refuse() throws {
        try beginning { throw $0.error(ValueEncoder.notFinite).thrown }
    }

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
