/// The names that JSON has for values (RFC 8259 section 3).
enum LiteralText {
    static func appendNull(to output: inout [UInt8]) {
        output.append(addingCapacity: 4) { output in
            output.append(UInt8(ascii: "n"))
            output.append(UInt8(ascii: "u"))
            output.append(UInt8(ascii: "l"))
            output.append(UInt8(ascii: "l"))
        }
    }

    static func append(_ value: Bool, to output: inout [UInt8]) {
        output.append(addingCapacity: 5) { output in
            if value {
                output.append(UInt8(ascii: "t"))
                output.append(UInt8(ascii: "r"))
                output.append(UInt8(ascii: "u"))
            } else {
                output.append(UInt8(ascii: "f"))
                output.append(UInt8(ascii: "a"))
                output.append(UInt8(ascii: "l"))
                output.append(UInt8(ascii: "s"))
            }
            output.append(UInt8(ascii: "e"))
        }
    }
}
