/// A JSON object that is written member by member into the returned bytes, for objects with fixed members. Costs less than
/// a keyed container of `Codable`.
@usableFromInline
package struct JSONObject {
    package private(set) var bytes: [UInt8] = []
    private let userInfo: [CodingUserInfoKey: any Sendable]

    /// - Parameters:
    ///   - size: the expected size in bytes; the default is enough for most objects.
    ///   - userInfo: of the encoders of values.
    @usableFromInline
    package init(size: Int = 192, userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        self.userInfo = userInfo
        bytes.reserveCapacity(size)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Ends and returns the object. Nothing can be added afterwards.
    @usableFromInline
    package mutating func close() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    @usableFromInline
    package mutating func add(_ name: StaticString, _ text: String) {
        addName(name)
        WireJSON.appendString(text, to: &bytes)
    }

    @usableFromInline
    package mutating func add(_ name: StaticString, _ number: Int) {
        addName(name)
        WireJSON.appendInteger(Int64(number), to: &bytes)
    }

    @usableFromInline
    package mutating func add(_ name: StaticString, _ number: UInt64) {
        addName(name)
        WireJSON.appendInteger(number, to: &bytes)
    }

    package mutating func add(_ name: StaticString, _ flag: Bool) {
        addName(name)
        bytes += (flag ? "true" : "false").utf8
    }

    /// Adds a value that is already JSON.
    @usableFromInline
    package mutating func add(_ name: StaticString, json: [UInt8]) {
        addName(name)
        bytes += json
    }

    /// Adds an array of values that are already JSON.
    package mutating func add(_ name: StaticString, array elements: [[UInt8]]) {
        addName(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += element
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds the stored form of a value, as of ``WireJSON/encodeStored(_:userInfo:)``.
    ///
    /// - Throws: as ``WireJSON/encode(_:)``. The object is then incomplete.
    @usableFromInline
    package mutating func add<T: Encodable>(_ name: StaticString, storing value: T) throws(WireEncodingError) {
        addName(name)
        try encode(value)
    }

    /// Adds an array of the stored forms of values. Leaves out those that are not `Encodable`.
    ///
    /// - Throws: as ``WireJSON/encode(_:)``. The object is then incomplete.
    @usableFromInline
    package mutating func add<T>(_ name: StaticString, storingEach values: [T]) throws(WireEncodingError) {
        addName(name)
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for case let value as any Encodable in values {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            try encode(value)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func encode<T: Encodable>(_ value: T) throws(WireEncodingError) {
        // The session takes over the buffer and returns it, so that nothing is copied.
        var output: [UInt8] = []
        swap(&output, &bytes)
        let session = EncodingSession(appendingTo: consume output, writesNil: true)
        defer { swap(&bytes, &session.bytes) }
        if !userInfo.isEmpty { session.userInfo = userInfo }
        try session.encodeDocument(value)
    }

    /// Names are the program's own and have no characters to escape.
    private mutating func addName(_ name: StaticString) {
        let isFirst = bytes.count == 1
        name.withUTF8Buffer { name in
            bytes.append(addingCapacity: name.count + 4) { output in
                if !isFirst { output.append(UInt8(ascii: ",")) }
                output.append(UInt8(ascii: "\""))
                for byte in name { output.append(byte) }
                output.append(UInt8(ascii: "\""))
                output.append(UInt8(ascii: ":"))
            }
        }
    }
}

extension [UInt8] {
    /// Returns a string as JSON.
    package static func json(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        WireJSON.appendString(text, to: &bytes)
        return bytes
    }
}
