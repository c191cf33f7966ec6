import WireJSON

/// A JSON value whose members keep their order.
package indirect enum SchemaTree: Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case text(String)
    case array([SchemaTree])
    case object([(String, SchemaTree)])
    /// JSON from another writer.
    case json([UInt8])

    package static func == (left: SchemaTree, right: SchemaTree) -> Bool { left.bytes() == right.bytes() }

    /// Returns the JSON without whitespace.
    package func bytes() -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, indent: nil)
        return output
    }

    /// Returns the JSON for people: one line per member, two more spaces per level, and a final newline.
    package func lines() -> String {
        var output: [UInt8] = []
        write(to: &output, indent: 0)
        return String(decoding: output, as: UTF8.self) + "\n"
    }

    private func write(to output: inout [UInt8], indent: Int?) {
        switch self {
        case .null: output += "null".utf8
        case .boolean(let flag): output += (flag ? "true" : "false").utf8
        case .integer(let number): WireJSON.appendInteger(number, to: &output)
        case .text(let text): WireJSON.appendString(text, to: &output)
        case .json(let bytes): output += bytes
        case .array(let elements):
            Self.write("[", elements, "]", to: &output, indent) { element, output, indent in
                element.write(to: &output, indent: indent)
            }
        case .object(let members):
            Self.write("{", members, "}", to: &output, indent) { member, output, indent in
                WireJSON.appendString(member.0, to: &output)
                output += (indent == nil ? ":" : ": ").utf8
                member.1.write(to: &output, indent: indent)
            }
        }
    }

    private static func write<Part>(
        _ open: String, _ parts: [Part], _ close: String, to output: inout [UInt8], _ indent: Int?,
        _ write: (Part, inout [UInt8], Int?) -> Void
    ) {
        output += open.utf8
        for (index, part) in parts.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if let indent { output += ("\n" + String(repeating: "  ", count: indent + 1)).utf8 }
            write(part, &output, indent.map { $0 + 1 })
        }
        if let indent, !parts.isEmpty { output += ("\n" + String(repeating: "  ", count: indent)).utf8 }
        output += close.utf8
    }
}
