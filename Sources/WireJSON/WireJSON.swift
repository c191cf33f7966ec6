/// `Codable` values as the flat JSON of the wire, and back; UTF-8 bytes on both sides (RFC 8259).
///
/// An enum whose `Codable` the compiler writes is one object: `case add(amount: Int)` is
/// `{"type":"add","amount":5}`, a single unlabelled value is the member `value`. Everything else is as in any JSON
/// coder: raw-value enums are their raw value, structs and dictionaries with string keys are objects, `nil` members
/// are absent. Dictionaries and sets are written in the order of their bytes, so that equal values give equal bytes.
///
/// All functions may be called from any thread.
@usableFromInline
package enum WireJSON {
    /// Decodes a value from a JSON text.
    ///
    /// Unknown members are ignored, and `null` is taken for `nil`. Integers are exact; `1.0` and `1e2` are integers,
    /// `1.5` is none.
    ///
    /// - Throws: ``WireDecodingError``. An error that an `init(from:)` throws becomes a mismatch at the value's place.
    @usableFromInline
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], limits: WireLimits = .default
    ) throws(WireDecodingError) -> T {
        try DecodingSession(bytes: bytes, limits: limits).decodeDocument(type)
    }

    /// Decodes a stored value; a member that the text lacks is taken from the same place in `filling`, the stored
    /// encoding of a value that has them all.
    ///
    /// That goes for structs and the structs inside them. An array's elements, a dictionary's values and the members of
    /// an enum's case have no place of their own in another text: there nothing is filled in. A member that is `null` is
    /// there.
    ///
    /// - Throws: ``WireDecodingError``, also when `filling` is no JSON.
    @usableFromInline
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], filling: [UInt8], limits: WireLimits = .default
    ) throws(WireDecodingError) -> T {
        try DecodingSession(bytes: bytes, filling: filling, limits: limits).decodeDocument(type)
    }

    /// Decodes a stored value like ``decode(_:from:filling:limits:)``, and finds what would be lost if it were stored
    /// again: members of the text that the type neither reads nor writes. One that is `null` holds nothing to lose.
    ///
    /// - Returns: the value, and JSON Pointers of the lost members, the first `lostLimit` of them in document order.
    /// - Throws: ``WireDecodingError``, also when `filling` is no JSON.
    @usableFromInline
    package static func decodeStored<T: Codable>(
        _ type: T.Type, from bytes: [UInt8], filling: [UInt8], lostLimit: Int = 16, limits: WireLimits = .default
    ) throws(WireDecodingError) -> (value: T, lost: [String]) {
        let session = try DecodingSession(bytes: bytes, filling: filling, notesReads: true, limits: limits)
        let value = try session.decodeDocument(type)
        guard session.hasUnread else { return (value, []) }
        return (value, session.lost(unlessIn: try? encodeStored(value).bytes, limit: lostLimit, limits: limits))
    }

    /// The same for a type that is only read: whatever it does not read is lost.
    package static func decodeStored<T: Decodable>(
        reading type: T.Type, from bytes: [UInt8], lostLimit: Int = 16, limits: WireLimits = .default
    ) throws(WireDecodingError) -> (value: T, lost: [String]) {
        let session = try DecodingSession(bytes: bytes, notesReads: true, limits: limits)
        let value = try session.decodeDocument(type)
        return (value, session.hasUnread ? session.lost(unlessIn: nil, limit: lostLimit, limits: limits) : [])
    }
}

extension WireJSON {
    /// Encodes a value as a JSON text without blanks.
    ///
    /// - Throws: ``WireEncodingError`` for NaN and infinities, for values nested deeper than 128 levels, for enum
    ///   cases that the wire cannot hold, and for whatever an `encode(to:)` throws.
    @usableFromInline
    package static func encode<T: Encodable>(_ value: T) throws(WireEncodingError) -> [UInt8] {
        var output: [UInt8] = []
        try encode(value, into: &output)
        return output
    }

    /// Encodes a value behind what `output` holds; when it throws, the output is as it was.
    package static func encode<T: Encodable>(
        _ value: T, into output: inout [UInt8]
    ) throws(WireEncodingError) {
        // The session takes the buffer over and gives it back, so that nothing is copied.
        let session = EncodingSession(appendingTo: output)
        output = []
        defer { swap(&output, &session.bytes) }
        try session.encodeDocument(value)
    }

    /// Encodes a value to be kept: members that are nil are written as `null`, so that one that is absent did not exist
    /// when the value was stored.
    ///
    /// - Returns: the bytes, and whether any of them is due to that; if not, they are those of ``encode(_:)``.
    /// - Throws: as ``encode(_:)``.
    @usableFromInline
    package static func encodeStored<T: Encodable>(
        _ value: T
    ) throws(WireEncodingError) -> (bytes: [UInt8], hasNulls: Bool) {
        let session = EncodingSession(writesNil: true)
        try session.encodeDocument(value)
        return (trimmed(session.bytes), session.firstNil != nil)
    }

    /// Bytes that are kept for as long as a state is, without the room that was made for a larger one.
    @usableFromInline
    package static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.capacity > bytes.count + bytes.count / 2 + 32 else { return bytes }
        // Not by way of a slice, which would share the roomy storage.
        return bytes.withUnsafeBufferPointer { Array($0) }
    }

    /// Appends a JSON string literal with its quotes, for envelopes written by hand.
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

    /// Checks one example of an enum at start-up: whether it travels as flat JSON and comes back the same.
    ///
    /// Looks at all values that the example's case may have, also those that are nil here, and at the enums inside.
    ///
    /// - Throws: ``WireMappingError`` naming the case: two unlabelled values, a value labelled `type`, another value
    ///   that is called as one already there, no object with a `type`, or other bytes after encode, decode, encode.
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
            throw WireMappingError(caseName: check.firstCase, detail: "its own JSON cannot be read back: \(error)")
        }
        guard let name = try? decode(Discriminated.self, from: bytes).type else {
            throw WireMappingError(
                caseName: nil, detail: "is not a JSON object with a \"type\"; it must be an enum with cases")
        }
        guard again == bytes else {
            throw WireMappingError(caseName: name, detail: "its JSON reads back as another value")
        }
    }

    private struct Discriminated: Decodable {
        let type: String
    }
}
