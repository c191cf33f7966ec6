import WireJSON

/// A JSON object that is written member by member into the sent bytes, for answers with fixed members.
struct JSONObject {
    private(set) var bytes: [UInt8] = []

    init() {
        // Enough for most objects.
        bytes.reserveCapacity(192)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Ends and returns the object. Nothing can be added afterwards.
    mutating func close() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    mutating func add(_ name: StaticString, _ text: String) {
        addName(name)
        WireJSON.appendString(text, to: &bytes)
    }

    mutating func add(_ name: StaticString, _ number: Int) {
        addName(name)
        WireJSON.appendInteger(Int64(number), to: &bytes)
    }

    mutating func add(_ name: StaticString, _ number: UInt64) {
        addName(name)
        WireJSON.appendInteger(number, to: &bytes)
    }

    mutating func add(_ name: StaticString, _ flag: Bool) {
        addName(name)
        bytes += (flag ? "true" : "false").utf8
    }

    /// Adds a value that is already JSON.
    mutating func add(_ name: StaticString, json: [UInt8]) {
        addName(name)
        bytes += json
    }

    /// Adds an array of values that are already JSON.
    mutating func add(_ name: StaticString, array elements: [[UInt8]]) {
        addName(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += element
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Names are the server's own and have no characters to escape.
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
    static func json(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        WireJSON.appendString(text, to: &bytes)
        return bytes
    }
}
