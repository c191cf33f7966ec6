/// A value of a document as JSON text, to be decoded when its type is known.
package struct JSONText: Decodable, Hashable, Sendable {
    /// The text as UTF-8 without whitespace.
    package let bytes: [UInt8]

    /// Works only with ``WireJSON``. Other decoders throw `DecodingError.dataCorrupted`.
    package init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? ValueDecoder else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "only WireJSON can decode a value as its text"))
        }
        var bytes: [UInt8] = []
        decoder.session.write(decoder.node, to: &bytes)
        self.bytes = bytes
    }
}

extension DecodingSession {
    /// Writes a value as it was read, without whitespace. Recurses to the depth of the document, which the scanner has
    /// limited.
    fileprivate func write(_ node: Int, to output: inout [UInt8]) {
        switch kind(node) {
        case .null, .true, .false, .integer, .real: output += raw(node)
        case .string: writeString(node, to: &output)
        case .array:
            output.append(UInt8(ascii: "["))
            eachChild(of: node) { child, isFirst in
                if !isFirst { output.append(UInt8(ascii: ",")) }
                write(child, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object:
            output.append(UInt8(ascii: "{"))
            eachChild(of: node) { name, isFirst in
                if !isFirst { output.append(UInt8(ascii: ",")) }
                writeString(name, to: &output)
                output.append(UInt8(ascii: ":"))
                write(name + 1, to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Calls `body` for the elements of an array, or the names of an object's members.
    private func eachChild(of node: Int, _ body: (_ child: Int, _ isFirst: Bool) -> Void) {
        let isObject = kind(node) == .object
        var child = node + 1
        while child < Int(nodes[node].next) {
            body(child, child == node + 1)
            child = Int(nodes[isObject ? child + 1 : child].next)
        }
    }

    /// Writes a string with its original escapes.
    private func writeString(_ node: Int, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        output += raw(node)
        output.append(UInt8(ascii: "\""))
    }
}

/// The literals of JSON (RFC 8259 section 3).
enum LiteralText {
    static let null: [UInt8] = [UInt8(ascii: "n"), UInt8(ascii: "u"), UInt8(ascii: "l"), UInt8(ascii: "l")]
    static let `true`: [UInt8] = [UInt8(ascii: "t"), UInt8(ascii: "r"), UInt8(ascii: "u"), UInt8(ascii: "e")]
    static let `false`: [UInt8] = [
        UInt8(ascii: "f"), UInt8(ascii: "a"), UInt8(ascii: "l"), UInt8(ascii: "s"), UInt8(ascii: "e"),
    ]

    static func of(_ value: Bool) -> [UInt8] { value ? `true` : `false` }
}
