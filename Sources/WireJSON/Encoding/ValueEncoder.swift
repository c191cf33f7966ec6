/// The `Encoder` of one value. It has two words, so that boxing it as `any Encoder` allocates nothing.
struct ValueEncoder: Encoder {
    let session: EncodingSession
    let serial: UInt32

    var codingPath: [any CodingKey] {
        session.isCurrent(self) ? session.path(to: session.current.start) : []
    }
    var userInfo: [CodingUserInfoKey: Any] { session.userInfo ?? [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if session.open(.object, of: self) {
            session.current.keys = ObjectIdentifier(type)
        } else {
            session.fail(Self.secondForm)
        }
        return KeyedEncodingContainer(KeyedEncoding<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if !session.open(.array, of: self) { session.fail(Self.secondForm) }
        return UnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    static let secondForm = "a value requested a second container of another kind, or after it was written"
    static let usedTooLate = "a container was used during the encoding of another value, or after its own"
    static let notFinite = "a number must be finite; JSON has no NaN and no infinity"
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws {
        try begin()
        session.bytes += LiteralText.null
    }
    func encode(_ value: Bool) throws {
        try begin()
        session.bytes += LiteralText.of(value)
    }
    func encode(_ value: String) throws {
        try begin()
        EscapedText.append(value, to: &session.bytes)
    }
    func encode(_ value: Double) throws {
        guard value.isFinite else { throw session.error(Self.notFinite).thrown }
        try begin()
        NumberText.append(finite: value, to: &session.bytes)
    }
    func encode(_ value: Float) throws {
        guard value.isFinite else { throw session.error(Self.notFinite).thrown }
        try begin()
        NumberText.append(finite: value, to: &session.bytes)
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
    /// Writes the text of a number.
    func encode(number text: String) throws {
        try begin()
        session.bytes += text.utf8
    }
    func encode<T: Encodable>(_ value: T) throws {
        try begin()
        let mark = session.mark()
        do {
            try session.encode(value)
        } catch {
            session.restore(mark)
            session.current.form = .open
            throw error
        }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: Int128) throws {
        try begin()
        NumberText.append(wide: value, to: &session.bytes)
    }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: UInt128) throws {
        try begin()
        NumberText.append(wide: value, to: &session.bytes)
    }

    private func integer(_ value: Int64) throws {
        try begin()
        NumberText.append(value.magnitude, isNegative: value < 0, to: &session.bytes)
    }

    private func integer(_ value: UInt64) throws {
        try begin()
        NumberText.append(value, to: &session.bytes)
    }

    private func begin() throws { try session.beginSingle(of: self) }
}
