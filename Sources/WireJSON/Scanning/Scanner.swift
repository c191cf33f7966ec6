/// Checks a JSON text against RFC 8259 in one pass and records the places of its values. Iterative, so nesting uses no
/// stack.
struct Scanner {
    let bytes: [UInt8]
    let maximumDepth: Int
    var nodes: [Node] = []
    var index = 0
    /// The innermost open container, with its outer ones; nil at the root value.
    private var container: Container?
    private var outer: [Container] = []
    private var depth = 0

    private struct Container {
        let node: UInt32
        let isObject: Bool
        /// The number of elements or members so far.
        var count: UInt32 = 0
    }

    /// Returns the nodes of a text, beginning with the root.
    static func scan(_ bytes: [UInt8], limits: WireLimits) throws(WireDecodingError) -> [Node] {
        guard bytes.count < Int(UInt32.max) else { throw .malformed(offset: 0, reason: "the text is too long") }
        var scanner = Scanner(bytes: bytes, maximumDepth: limits.maximumDepth)
        try scanner.scanDocument()
        return scanner.nodes
    }

    private init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        // Enough for most texts. A text of only `[[[[` makes the array grow.
        nodes.reserveCapacity(min(4 + bytes.count / 4, 1024))
    }

    /// RFC 8259 section 2: `JSON-text = ws value ws`.
    private mutating func scanDocument() throws(WireDecodingError) {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw malformed("a byte order mark is not allowed")
        }
        skipWhitespace()
        while true {
            if try scanValue() { continue }
            if try endValue() { return }
        }
    }

    /// Scans a value. Returns true if it is a container whose first element or member value follows.
    private mutating func scanValue() throws(WireDecodingError) -> Bool {
        guard index < bytes.count else { throw malformed("expected a value, found the end") }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try openContainer(.object, closing: UInt8(ascii: "}"))
        case UInt8(ascii: "["): return try openContainer(.array, closing: UInt8(ascii: "]"))
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
        case UInt8(ascii: "t"): try scanLiteral(LiteralText.true, .true)
        case UInt8(ascii: "f"): try scanLiteral(LiteralText.false, .false)
        case UInt8(ascii: "n"): try scanLiteral(LiteralText.null, .null)
        default: throw malformed("expected a value")
        }
        return false
    }

    private mutating func openContainer(_ kind: Node.Kind, closing: UInt8) throws(WireDecodingError) -> Bool {
        guard depth < maximumDepth else { throw malformed("nested deeper than \(maximumDepth) levels") }
        let node = UInt32(nodes.count)
        nodes.append(Node(start: node + 1, next: node + 1, kind: kind))
        index += 1
        skipWhitespace()
        if index < bytes.count, bytes[index] == closing {
            index += 1
            return false
        }
        if let container { outer.append(container) }
        container = Container(node: node, isObject: kind == .object)
        depth += 1
        if kind == .object { try scanMemberName() }
        return true
    }

    /// Closes the containers that end after a value and advances to the next value. Returns true at the end of the
    /// text.
    private mutating func endValue() throws(WireDecodingError) -> Bool {
        while var container {
            skipWhitespace()
            container.count += 1
            guard index < bytes.count else {
                throw malformed("expected ',' or '\(container.isObject ? "}" : "]")', found the end")
            }
            let byte = bytes[index]
            if byte == UInt8(ascii: ",") {
                self.container = container
                index += 1
                skipWhitespace()
                if container.isObject { try scanMemberName() }
                return false
            }
            guard byte == (container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw malformed("expected ',' or '\(container.isObject ? "}" : "]")'")
            }
            index += 1
            try close(container)
        }
        skipWhitespace()
        guard index == bytes.count else { throw malformed("expected the end after the value") }
        return true
    }

    private mutating func close(_ container: Container) throws(WireDecodingError) {
        let node = Int(container.node)
        nodes[node].length = container.count
        nodes[node].next = UInt32(nodes.count)
        self.container = outer.popLast()
        depth -= 1
        if container.isObject { try checkMemberNames(of: node) }
    }

    private mutating func scanMemberName() throws(WireDecodingError) {
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
            throw malformed("expected a member's name in quotes")
        }
        try scanString()
        skipWhitespace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { throw malformed("expected ':'") }
        index += 1
        skipWhitespace()
    }

    private mutating func scanLiteral(_ text: [UInt8], _ kind: Node.Kind) throws(WireDecodingError) {
        let start = index
        guard bytes.count - start >= text.count else { throw malformed("expected a value") }
        for offset in 0..<text.count where bytes[start + offset] != text[offset] {
            throw malformed("expected a value")
        }
        index += text.count
        append(kind, from: start)
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        // Few documents contain whitespace.
        while index < bytes.count, bytes[index] <= 0x20, isWhitespace(bytes[index]) { index += 1 }
    }

    private func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    mutating func append(_ kind: Node.Kind, from start: Int, to end: Int? = nil, isEscaped: Bool = false) {
        nodes.append(
            Node(
                start: UInt32(start), length: UInt32((end ?? index) - start), next: UInt32(nodes.count + 1),
                kind: kind, isEscaped: isEscaped))
    }

    func malformed(_ reason: String) -> WireDecodingError {
        .malformed(offset: index, reason: reason)
    }
}
