/// A step of a path into a document, for `codingPath` and for JSON Pointers.
enum PathKey: CodingKey {
    case member(String)
    case index(Int)

    init(stringValue: String) { self = .member(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .member(let name): name
        case .index(let index): String(index)
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }

    /// The JSON Pointer of a path (RFC 6901 sections 3 and 4).
    static func pointer(_ path: [any CodingKey]) -> String {
        path.map { "/" + escaped($0.intValue.map { String($0) } ?? $0.stringValue) }.joined()
    }

    /// `~` and `/` as `~0` and `~1`.
    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        var text = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
