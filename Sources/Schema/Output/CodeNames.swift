import WireJSON

/// Identifiers in code for names in the API.
enum CodeNames {
    /// `order-detail` → `OrderDetail`, `add` → `Add`.
    static func upperCamel(_ name: String) -> String {
        let text = identifier(name)
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// `first-name` → `firstName`; an identifier stays as it is.
    static func identifier(_ name: String) -> String {
        var result = ""
        var startsWord = false
        for letter in name {
            if letter.isLetter || letter.isNumber || letter == "_" {
                result += startsWord && !result.isEmpty ? letter.uppercased() : String(letter)
                startsWord = false
            } else {
                startsWord = true
            }
        }
        if result.isEmpty { return "unnamed" }
        return result.first?.isNumber == true ? "_" + result : result
    }

    /// Returns unique names by adding numbers to repeated ones.
    static func unique(_ names: [String]) -> [String] {
        var used: Set<String> = []
        return names.map { name in
            var (result, number) = (name, 2)
            while !used.insert(result).inserted {
                result = "\(name)\(number)"
                number += 1
            }
            return result
        }
    }

    /// Returns a string literal. JSON's are valid in TypeScript and, except for `$`, in Kotlin.
    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        WireJSON.appendString(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Names with a meaning in one of the languages, which definitions must not have.
    static let taken: Set<String> = [
        "Any", "Array", "BigDecimal", "Boolean", "Bool", "Byte", "Character", "CaseIterable", "Codable", "CodingKey",
        "CodingKeys", "Data", "Date", "Decimal", "Decodable", "Decoder", "Double", "Duration", "Dictionary",
        "Encodable",
        "Encoder", "Equatable", "Float", "Hashable", "Instant", "Int", "Int8", "Int16", "Int32", "Int64", "Int128",
        "Json", "JsonElement", "JSONValue", "List", "Long", "Map", "Never", "Nothing", "Optional", "Protocol",
        "RawRepresentable", "Self", "Sendable", "Serializable", "SerialName", "Set", "Shared", "Short", "String",
        "Type", "UByte", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128", "ULong", "URL", "UShort", "any",
        "bigint", "boolean", "never", "null", "number", "object", "string", "symbol", "undefined", "unknown", "void",
    ]
}

/// Indented lines of code.
struct CodeLines {
    private(set) var lines: [String] = []
    private let unit: String
    private var depth = 0

    init(unit: String) { self.unit = unit }

    /// The code with a final newline.
    var text: String { lines.joined(separator: "\n") + "\n" }

    mutating func add(_ line: String = "") {
        lines.append(line.isEmpty ? "" : String(repeating: unit, count: depth) + line)
    }

    /// Adds lines between an opening and a closing one.
    mutating func block(_ open: String, _ close: String = "}", _ body: (inout CodeLines) -> Void) {
        add(open)
        depth += 1
        body(&self)
        depth -= 1
        add(close)
    }
}

extension FeatureShape {
    /// The definitions in the order of the output: the feature's three types, then the others by name.
    var ordered: [TypeDefinition] {
        var named = Dictionary(uniqueKeysWithValues: definitions.map { ($0.name, $0) })
        let first = roots.map {
            named.removeValue(forKey: $0.name) ?? TypeDefinition(name: $0.name, kind: .alias($0.type))
        }
        return first + named.values.sorted { $0.name < $1.name }
    }

    /// The definitions that a client receives in states, labels and what it sees of others.
    var received: [TypeDefinition] {
        [state, label, presence].compactMap(\.self).reduce(into: Set()) { $0.formUnion(reachable(from: $1)) }
            .map { definitions[$0] }
    }
}
