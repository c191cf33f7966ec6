/// Checks a JSON text against RFC 8259 in one pass and notes where its values lie. Iterative: nesting costs no stack.
struct Scanner {
    let bytes: [UInt8]
    let maximumDepth: Int
    var nodes: [Node] = []
    var index = 0
    /// The containers that are open, outermost first.
    private var open: [UInt32] = []

    /// The nodes of a text, the outermost value first.
    static func scan(_ bytes: [UInt8], limits: WireLimits) throws(WireDecodingError) -> [Node] {
        guard bytes.count < Int(UInt32.max) else { throw .malformed(offset: 0, reason: "the text is too long") }
        var scanner = Scanner(bytes: bytes, maximumDepth: limits.maximumDepth)
        try scanner.scanDocument()
        return scanner.nodes
    }

    private init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        // Enough for an ordinary intent; a text of nothing but `[[[[` makes it grow.
        nodes.reserveCapacity(min(4 + bytes.count / 8, 1024))
    }

    /// RFC 8259 section 2: `JSON-text = ws value ws`.
    private mutating func scanDocument() throws(WireDecodingError) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw malformed("a byte order mark is not allowed") }
        skipWhitespace()
        while true {
            if try scanValue() { continue }
            if try endValue() { return }
        }
    }

    /// Takes one value. True when that is a container whose first element or member value comes next.
    private mutating func scanValue() throws(WireDecodingError) -> Bool {
        guard index < bytes.count else { throw malformed("expected a value, found the end") }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try openContainer(.object, closing: UInt8(ascii: "}"))
        case UInt8(ascii: "["): return try openContainer(.array, closing: UInt8(ascii: "]"))
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
        case UInt8(ascii: "t"): try scanLiteral("true", .true)
        case UInt8(ascii: "f"): try scanLiteral("false", .false)
        case UInt8(ascii: "n"): try scanLiteral("null", .null)
        default: throw malformed("expected a value")
        }
        return false
    }

    private mutating func openContainer(_ kind: Node.Kind, closing: UInt8) throws(WireDecodingError) -> Bool {
        guard open.count < maximumDepth else { throw malformed("nested deeper than \(maximumDepth) levels") }
        let node = UInt32(nodes.count)
        nodes.append(Node(start: node + 1, next: node + 1, kind: kind))
        index += 1
        skipWhitespace()
        if index < bytes.count, bytes[index] == closing {
            index += 1
            return false
        }
        open.append(node)
        if kind == .object { try scanMemberName() }
        return true
    }

    /// After a value: closes the containers that end here and goes to the next value. True at the end of the text.
    private mutating func endValue() throws(WireDecodingError) -> Bool {
        while let container = open.last.map(Int.init) {
            skipWhitespace()
            nodes[container].length += 1
            let isObject = nodes[container].kind == .object
            guard index < bytes.count else {
                throw malformed("expected ',' or '\(isObject ? "}" : "]")', found the end")
            }
            let byte = bytes[index]
            if byte == UInt8(ascii: ",") {
                index += 1
                skipWhitespace()
                if isObject { try scanMemberName() }
                return false
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw malformed("expected ',' or '\(isObject ? "}" : "]")'")
            }
            index += 1
            nodes[container].next = UInt32(nodes.count)
            open.removeLast()
            if isObject { try checkMemberNames(of: container) }
        }
        skipWhitespace()
        guard index == bytes.count else { throw malformed("expected nothing behind the value") }
        return true
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

    private mutating func scanLiteral(_ text: String, _ kind: Node.Kind) throws(WireDecodingError) {
        let start = index
        for expected in text.utf8 {
            guard index < bytes.count, bytes[index] == expected else {
                throw .malformed(offset: start, reason: "expected a value")
            }
            index += 1
        }
        append(kind, from: start)
    }

    private mutating func skipWhitespace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
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
