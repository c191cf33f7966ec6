/// The `Encoder` of one value. Two words, so that handing it out as `any Encoder` allocates nothing.
struct ValueEncoder: Encoder {
    let session: EncodingSession
    let serial: UInt32

    var codingPath: [any CodingKey] {
        session.isCurrent(self) ? session.path(to: session.current.start) : []
    }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

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

    static let secondForm = "a value asked for a second container of another kind, or after it was written"
    static let usedTooLate = "a container was written to while another value was being encoded, or after its own"
    static let notFinite = "a number must be finite; JSON has no NaN and no infinity"
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws { try single { $0.append(contentsOf: "null".utf8) } }
    func encode(_ value: Bool) throws { try single { $0.append(contentsOf: (value ? "true" : "false").utf8) } }
    func encode(_ value: String) throws { try single { EscapedText.append(value, to: &$0) } }
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
        try claim()
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
    func encode(_ value: Int128) throws { try integer(value) }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: UInt128) throws { try integer(value) }

    private func integer<Integer: FixedWidthInteger>(_ value: Integer) throws {
        try single { NumberText.append(value, to: &$0) }
    }

    private func finite<Value: BinaryFloatingPoint & CustomStringConvertible>(_ value: Value) throws {
        guard value.isFinite else { throw session.error(Self.notFinite).thrown }
        try single { _ = NumberText.append(value, to: &$0) }
    }

    private func single(_ write: (inout [UInt8]) -> Void) throws {
        try claim()
        write(&session.bytes)
    }

    /// Makes the value a single one, if it is nothing yet.
    private func claim() throws {
        guard session.isCurrent(self), session.current.form == .open else {
            throw session.error(Self.secondForm).thrown
        }
        session.current.form = .single
    }
}
