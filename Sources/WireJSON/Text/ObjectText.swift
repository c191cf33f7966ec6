/// The text of an object whose members are written one by one. Costs less than a keyed container for each, which
/// `Codable` uses through generic code.
///
/// Nil members of the values are written as `null`, as by ``WireJSON/encodeStored(_:userInfo:)``.
@usableFromInline
package struct ObjectText: ~Copyable {
    private let session = EncodingSession(depth: 1, writesNil: true)
    private var isEmpty = true

    /// - Parameter size: the expected size in bytes.
    @usableFromInline
    package init(size: Int, userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        if !userInfo.isEmpty { session.userInfo = userInfo }
        session.bytes.reserveCapacity(size)
        session.bytes.append(UInt8(ascii: "{"))
    }

    /// The text. Nothing can be added to it.
    @usableFromInline
    package consuming func finished() -> [UInt8] {
        session.bytes.append(UInt8(ascii: "}"))
        return WireJSON.trimmed(session.bytes)
    }

    private mutating func begin(_ name: String) {
        EscapedText.append(name: name, isFirst: isEmpty, to: &session.bytes)
        isEmpty = false
    }

    @usableFromInline
    package mutating func append(_ name: String, string: String) {
        begin(name)
        EscapedText.append(string, to: &session.bytes)
    }

    @usableFromInline
    package mutating func append(_ name: String, integer: UInt64) {
        begin(name)
        NumberText.append(integer, to: &session.bytes)
    }

    /// Appends a member with a value that is JSON already.
    @usableFromInline
    package mutating func append(_ name: String, json: [UInt8]) {
        begin(name)
        session.bytes += json
    }

    /// - Throws: as ``WireJSON/encode(_:)``. The text is then incomplete.
    @usableFromInline
    package mutating func append<T: Encodable>(_ name: String, _ value: T) throws(WireEncodingError) {
        begin(name)
        try session.encodeDocument(value)
    }

    /// Appends an array. Leaves out elements that are not `Encodable`.
    ///
    /// - Throws: as ``WireJSON/encode(_:)``. The text is then incomplete.
    @usableFromInline
    package mutating func append<Element>(_ name: String, each values: [Element]) throws(WireEncodingError) {
        begin(name)
        session.bytes.append(UInt8(ascii: "["))
        session.depth += 1
        var isFirst = true
        for case let value as any Encodable in values {
            if !isFirst { session.bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            try session.encodeDocument(value)
        }
        session.depth -= 1
        session.bytes.append(UInt8(ascii: "]"))
    }
}

extension WireJSON {
    /// Writes a text from ``ObjectText`` as the value of an encoder, with its user info if it is one of this module.
    ///
    /// - Throws: `EncodingError`.
    package static func encode(
        to encoder: any Encoder,
        _ text: (_ userInfo: [CodingUserInfoKey: any Sendable]) throws(WireEncodingError) -> [UInt8]
    ) throws {
        let own = encoder as? ValueEncoder
        let json: [UInt8]
        do throws(WireEncodingError) { json = try text(own?.session.userInfo ?? [:]) } catch { throw error.thrown }
        guard let own else { return try encode(json: json, to: encoder) }
        try own.session.beginSingle(of: own)
        own.session.bytes += json
    }
}
