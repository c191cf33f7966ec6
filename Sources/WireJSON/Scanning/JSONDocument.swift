/// A JSON text that has been checked against RFC 8259, to walk through without a type in mind.
///
/// Its values have places: the outermost is at 0.
package struct JSONDocument: Sendable {
    package enum Kind: Sendable {
        /// A name of RFC 8259 section 3: `null`, `true`, `false`.
        case literal
        case number, string, array, object
    }

    private let bytes: [UInt8]
    private let nodes: [Node]

    /// - Throws: ``WireDecodingError`` for what is no JSON text, for a member that is there twice, and for one that is
    ///   nested deeper than the limits allow.
    package init(_ bytes: [UInt8], limits: WireLimits = .default) throws(WireDecodingError) {
        self.bytes = bytes
        nodes = try Scanner.scan(bytes, limits: limits)
    }

    package func kind(_ place: Int) -> Kind {
        switch nodes[place].kind {
        case .null, .true, .false: .literal
        case .integer, .real: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// A literal's or a number's text as it was written; a string's or a name's characters as UTF-8, without quotes,
    /// its escapes resolved.
    package func text(_ place: Int) -> [UInt8] {
        let node = nodes[place]
        let raw = bytes[Int(node.start)..<Int(node.start + node.length)]
        return node.isEscaped ? EscapedText.unescaped(raw) : Array(raw)
    }

    /// The places of an array's elements.
    package func elements(of array: Int) -> [Int] { children(of: array, step: 1) }

    /// The places of the names of an object's members; the value of each is at the place behind its name.
    package func names(of object: Int) -> [Int] { children(of: object, step: 2) }

    private func children(of container: Int, step: Int) -> [Int] {
        var places: [Int] = []
        places.reserveCapacity(Int(nodes[container].length))
        var place = container + 1
        while place < Int(nodes[container].next) {
            places.append(place)
            place = Int(nodes[place + step - 1].next)
        }
        return places
    }
}

extension WireJSON {
    /// Appends a JSON string literal with its quotes.
    ///
    /// - Parameter text: characters as UTF-8.
    package static func appendString(utf8 text: [UInt8], to output: inout [UInt8]) {
        EscapedText.append(text.span, to: &output)
    }

    /// The characters of a checked string literal without its quotes, its escapes resolved.
    package static func unescaped(_ raw: ArraySlice<UInt8>) -> [UInt8] { EscapedText.unescaped(raw) }
}
