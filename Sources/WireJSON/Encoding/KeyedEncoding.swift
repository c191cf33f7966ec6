/// The members of an object. An enum's container of the case and the container of its payload are the same object.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    /// True if the keys belong to one case's associated values.
    var isPayload = false

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws {
        try begin(key)
        encoder.session.bytes += LiteralText.null
    }
    func encode(_ value: Bool, forKey key: Key) throws {
        try begin(key)
        encoder.session.bytes += LiteralText.of(value)
    }
    func encode(_ value: String, forKey key: Key) throws {
        try begin(key)
        EscapedText.append(value, to: &encoder.session.bytes)
    }
    func encode(_ value: Double, forKey key: Key) throws {
        guard value.isFinite else { return try refuse(key) }
        try begin(key)
        NumberText.append(finite: value, to: &encoder.session.bytes)
    }
    func encode(_ value: Float, forKey key: Key) throws {
        guard value.isFinite else { return try refuse(key) }
        try begin(key)
        NumberText.append(finite: value, to: &encoder.session.bytes)
    }
    func encode(_ value: Int, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int8, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int16, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int32, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int64, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: UInt, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try beginning(key) { try $0.encode(value) }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: Int128, forKey key: Key) throws {
        try begin(key)
        NumberText.append(wide: value, to: &encoder.session.bytes)
    }
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    func encode(_ value: UInt128, forKey key: Key) throws {
        try begin(key)
        NumberText.append(wide: value, to: &encoder.session.bytes)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        if beginsCase(type, key) {
            return KeyedEncodingContainer(KeyedEncoding<Nested>(encoder: encoder, isPayload: true))
        }
        return nestedEncoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nestedEncoder(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { nestedEncoder(named: "super") }
    func superEncoder(forKey key: Key) -> any Encoder { nestedEncoder(key) }

    private func integer(_ value: Int64, _ key: Key) throws {
        try begin(key)
        NumberText.append(value.magnitude, isNegative: value < 0, to: &encoder.session.bytes)
    }

    private func integer(_ value: UInt64, _ key: Key) throws {
        try begin(key)
        NumberText.append(value, to: &encoder.session.bytes)
    }

    private func begin(_ key: Key) throws { try encoder.session.beginMember(name(key), of: encoder) }

    /// Begins a member whose value may fail. If it does, the member is removed.
    private func beginning(_ key: Key, _ write: (EncodingSession) throws -> Void) throws {
        let name = try name(key)
        guard encoder.session.isCurrent(encoder) else { throw encoder.session.tooLate }
        let mark = encoder.session.mark()
        do {
            try encoder.session.beginMember(name, of: encoder)
            try write(encoder.session)
        } catch {
            encoder.session.restore(mark)
            throw error
        }
    }

    /// Throws the error for NaN and infinities, which JSON cannot represent.
    private func refuse(_ key: Key) throws {
        try beginning(key) { throw $0.error(ValueEncoder.notFinite).thrown }
    }

    private func nestedEncoder(_ key: Key) -> ValueEncoder {
        do {
            return try nestedEncoder(named: name(key))
        } catch {
            return failed(error)
        }
    }

    private func nestedEncoder(named name: String) -> ValueEncoder {
        do {
            try encoder.session.beginMember(name, of: encoder)
        } catch {
            return failed(error)
        }
        return encoder.session.nest()
    }

    /// Returns an encoder without output, at a place where an error cannot be thrown. The error is thrown at the end of
    /// the value.
    private func failed(_ error: any Error) -> ValueEncoder {
        encoder.session.failure = encoder.session.failure ?? WireEncodingError(inside: error)
        return EncodingSession().root(Void.self)
    }
}

extension KeyedEncoding {
    /// Writes `type` if the payload of a synthesized case begins. Returns false otherwise.
    private func beginsCase<Nested: CodingKey>(_ type: Nested.Type, _ key: Key) -> Bool {
        let session = encoder.session
        // An object that already has members is not a synthesized enum.
        guard !isPayload, session.isCurrent(encoder), session.current.count == 0 else {
            return false
        }
        if session.payloadKeys != ObjectIdentifier(type) {
            let owner = session.current.owner
            guard EnumShape.isPayload(type, in: Key.self, of: owner) else { return false }
            session.payloadKeys = ObjectIdentifier(type)
        }
        do {
            try session.beginMember(EnumShape.discriminator, of: encoder)
            EscapedText.append(key.stringValue, to: &session.bytes)
        } catch {
            session.failure = session.failure ?? WireEncodingError(inside: error)
        }
        if let problem = session.check?.problem(of: key.stringValue, keys: type) { session.fail(problem) }
        return true
    }

    /// Returns the JSON name of a member. Throws if the object already has it.
    private func name(_ key: Key) throws -> String {
        let name = key.stringValue
        guard isPayload else { return name }
        let session = encoder.session
        guard session.isCurrent(encoder) else { throw session.tooLate }
        if EnumShape.isUnlabelled(name) {
            if session.current.hasUnlabelled { throw session.error(KeyCheck.twoUnlabelled).thrown }
            if session.current.hasValueLabel { throw session.error(KeyCheck.twoValues).thrown }
            session.current.hasUnlabelled = true
            return EnumShape.unlabelled
        }
        if name == EnumShape.discriminator { throw session.error(KeyCheck.labelledType).thrown }
        if name == EnumShape.unlabelled {
            if session.current.hasUnlabelled { throw session.error(KeyCheck.twoValues).thrown }
            session.current.hasValueLabel = true
        }
        return name
    }
}
