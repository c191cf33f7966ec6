/// Encodes and decodes `Codable` values as the flat JSON of the API, in UTF-8 (RFC 8259).
///
/// An enum with a synthesized `Codable` conformance is one object: `case add(amount: Int)` is
/// `{"type":"add","amount":5}`, and a single unlabeled value is the member `value`. All other types are encoded as
/// usual: enums with raw values as their raw value, structs and dictionaries with string keys as objects, `nil` members
/// as absent. Dictionaries and sets are sorted by their bytes, so that equal values have equal bytes.
///
/// All functions can be called from any thread.
@usableFromInline
package enum WireJSON {
    /// Decodes a value from a JSON text.
    ///
    /// Unknown members are ignored, and `null` is treated as `nil`. Integers are exact; `1.0` and `1e2` are integers,
    /// `1.5` is not.
    ///
    /// - Throws: ``WireDecodingError``. An error thrown by an `init(from:)` becomes a mismatch at the value's place.
    @usableFromInline
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], limits: WireLimits = .document
    ) throws(WireDecodingError) -> T {
        try DecodingSession(bytes: bytes, limits: limits).decodeDocument(type)
    }

    /// Decodes a stored value, optionally like ``decode(_:from:filling:limits:)``, with decoders that have a user info.
    ///
    /// - Throws: ``WireDecodingError``, also if `filling` is not JSON.
    @usableFromInline
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], filling: [UInt8]?, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(WireDecodingError) -> T {
        let session =
            if let filling {
                try DecodingSession(bytes: bytes, filling: filling, limits: .document)
            } else {
                try DecodingSession(bytes: bytes, limits: .document)
            }
        session.isStored = true
        if !userInfo.isEmpty { session.userInfo = userInfo }
        return try session.decodeDocument(type)
    }

    /// Decodes a stored value. A member that the text lacks is taken from the same place in `filling`, the stored
    /// encoding of a complete value.
    ///
    /// This applies to structs and nested structs. Elements of arrays, values of dictionaries and members of an enum's
    /// case have no counterpart in another text, so they are not filled in. A `null` member counts as present.
    ///
    /// - Throws: ``WireDecodingError``, also if `filling` is not JSON.
    @usableFromInline
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], filling: [UInt8], limits: WireLimits = .document
    ) throws(WireDecodingError) -> T {
        try DecodingSession(bytes: bytes, filling: filling, limits: limits).decodeDocument(type)
    }

    /// Decodes a stored value like ``decode(_:from:filling:limits:)``, and finds the members that would be lost if it
    /// were stored again, since the type neither reads nor writes them. Members that are `null` are not lost.
    ///
    /// - Returns: the value, and JSON Pointers of the first `lostLimit` lost members in document order.
    /// - Throws: ``WireDecodingError``, also if `filling` is not JSON.
    @usableFromInline
    package static func decodeStored<T: Codable>(
        _ type: T.Type, from bytes: [UInt8], filling: [UInt8], lostLimit: Int = 16, limits: WireLimits = .document,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(WireDecodingError) -> (value: T, lost: [String]) {
        let session = try DecodingSession(bytes: bytes, filling: filling, notesReads: true, limits: limits)
        if !userInfo.isEmpty { session.userInfo = userInfo }
        let value = try session.decodeDocument(type)
        guard session.hasUnread else { return (value, []) }
        return (value, session.lost(unlessIn: try? encodeStored(value).bytes, limit: lostLimit, limits: limits))
    }

    /// Decodes a stored value of a type that is only read. All members that it does not read are lost.
    package static func decodeStored<T: Decodable>(
        reading type: T.Type, from bytes: [UInt8], lostLimit: Int = 16, limits: WireLimits = .document,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(WireDecodingError) -> (value: T, lost: [String]) {
        let session = try DecodingSession(bytes: bytes, notesReads: true, limits: limits)
        if !userInfo.isEmpty { session.userInfo = userInfo }
        let value = try session.decodeDocument(type)
        return (value, session.hasUnread ? session.lost(unlessIn: nil, limit: lostLimit, limits: limits) : [])
    }
}

extension WireJSON {
    /// Encodes a value as a JSON text without whitespace.
    ///
    /// - Throws: ``WireEncodingError`` for NaN and infinities, for values nested deeper than 128 levels, for enum cases
    ///   that cannot be represented, and for errors of an `encode(to:)`.
    @usableFromInline
    package static func encode<T: Encodable>(_ value: T) throws(WireEncodingError) -> [UInt8] {
        var output: [UInt8] = []
        try encode(value, into: &output)
        return output
    }

    /// Encodes a value with encoders that have a user info.
    ///
    /// - Throws: as ``encode(_:)``.
    package static func encode<T: Encodable>(
        _ value: T, userInfo: [CodingUserInfoKey: any Sendable]
    ) throws(WireEncodingError) -> [UInt8] {
        let session = EncodingSession()
        if !userInfo.isEmpty { session.userInfo = userInfo }
        try session.encodeDocument(value)
        return session.bytes
    }

    /// Appends the encoding of a value to `output`. If it throws, the output is unchanged.
    package static func encode<T: Encodable>(
        _ value: T, into output: inout [UInt8]
    ) throws(WireEncodingError) {
        // The session takes over the buffer and returns it, so that nothing is copied.
        let session = EncodingSession(appendingTo: output)
        output = []
        defer { swap(&output, &session.bytes) }
        try session.encodeDocument(value)
    }

    /// Encodes a value for storage. Nil members are written as `null`, so that an absent member means that it did not
    /// exist when the value was stored.
    ///
    /// - Returns: the bytes, and true if a `null` was written for this; otherwise the bytes are those of
    ///   ``encode(_:)``.
    /// - Throws: as ``encode(_:)``.
    @usableFromInline
    package static func encodeStored<T: Encodable>(
        _ value: T, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(WireEncodingError) -> (bytes: [UInt8], hasNulls: Bool) {
        let session = EncodingSession(writesNil: true)
        if !userInfo.isEmpty { session.userInfo = userInfo }
        try session.encodeDocument(value)
        return (trimmed(session.bytes), session.firstNil != nil)
    }

    /// Returns bytes that are kept as long as a state, without unused capacity.
    @usableFromInline
    package static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.capacity > bytes.count + bytes.count / 2 + 16 else { return bytes }
        // A slice would share the larger storage.
        return bytes.withUnsafeBufferPointer { Array($0) }
    }

    /// Appends a JSON string literal with quotes, for envelopes written by hand.
    package static func appendString(_ string: String, to output: inout [UInt8]) {
        EscapedText.append(string, to: &output)
    }

    /// Appends a JSON number, for envelopes written by hand.
    package static func appendInteger(_ number: Int64, to output: inout [UInt8]) {
        NumberText.append(number.magnitude, isNegative: number < 0, to: &output)
    }

    /// Appends a JSON number, for envelopes written by hand.
    package static func appendInteger(_ number: UInt64, to output: inout [UInt8]) {
        NumberText.append(number, to: &output)
    }

    /// Checks at startup that an example of an enum can be represented as flat JSON and decoded to the same value.
    ///
    /// Checks all values that the example's case may have, including those that are nil, and nested enums.
    ///
    /// - Throws: ``WireMappingError`` with the case: two unlabeled values, a value labeled `type`, a duplicate name, no
    ///   object with a `type`, or different bytes after encode, decode, encode.
    package static func checkMapping<T: Codable>(of example: T) throws(WireMappingError) {
        let session = EncodingSession()
        let check = KeyCheck()
        session.check = check
        do {
            try session.encodeDocument(example)
        } catch {
            throw WireMappingError(caseName: check.failedCase ?? check.firstCase, detail: error.detail)
        }
        let bytes = session.bytes
        let again: [UInt8]
        do {
            again = try encode(decode(T.self, from: bytes))
        } catch {
            throw WireMappingError(caseName: check.firstCase, detail: "its own JSON cannot be decoded: \(error)")
        }
        guard let name = try? decode(Discriminated.self, from: bytes).type else {
            throw WireMappingError(
                caseName: nil, detail: "is not a JSON object with a \"type\"; it must be an enum with cases")
        }
        guard again == bytes else {
            throw WireMappingError(caseName: name, detail: "its JSON is decoded as another value")
        }
    }

    private struct Discriminated: Decodable {
        let type: String
    }
}
