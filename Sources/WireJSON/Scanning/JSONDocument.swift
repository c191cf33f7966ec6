/// A JSON text that was checked against RFC 8259, to be read without a Swift type.
///
/// Values are identified by places; the root is at 0.
package struct JSONDocument: Sendable {
    package enum Kind: Sendable {
        /// A literal of RFC 8259 section 3: `null`, `true` or `false`.
        case literal
        case number, string, array, object
    }

    private let bytes: [UInt8]
    private let nodes: [Node]

    /// - Throws: ``WireDecodingError`` if the bytes are not JSON, a member is duplicated, or the depth exceeds the
    ///   limits.
    package init(_ bytes: [UInt8], limits: WireLimits = .document) throws(WireDecodingError) {
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

    /// Returns a literal's or a number's text as written, or a string's or name's characters as UTF-8 without quotes
    /// and escapes.
    package func text(_ place: Int) -> [UInt8] {
        let node = nodes[place]
        let raw = bytes[Int(node.start)..<Int(node.start + node.length)]
        return node.isEscaped ? EscapedText.unescaped(raw) : Array(raw)
    }

    /// Returns the places of an array's elements.
    package func elements(of array: Int) -> [Int] { children(of: array, step: 1) }

    /// Returns the places of the names of an object's members. The value of each is at the place after its name.
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
    /// Appends a JSON string literal with quotes.
    ///
    /// - Parameter text: characters as UTF-8.
    package static func appendString(utf8 text: [UInt8], to output: inout [UInt8]) {
        EscapedText.append(text.span, to: &output)
    }

    /// Returns true if two checked numbers have the same value, however it is written.
    package static func areEqual(number one: [UInt8], _ two: [UInt8]) -> Bool {
        NumberText.areEqual(one[...], two[...])
    }

    /// Returns the characters of a checked string literal without quotes and escapes.
    package static func unescaped(_ raw: ArraySlice<UInt8>) -> [UInt8] { EscapedText.unescaped(raw) }
}
