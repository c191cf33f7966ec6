/// The features' types in Swift 6, for clients that share no code with the server: an enum for each feature, which
/// contains its types, and one for types of several features. Enums with cases have synthesized conformances, which WireJSON encodes as the API's JSON.
package struct SwiftTypes {
    private let declarations: Declarations
    /// The feature whose definitions are declared.
    private let feature: Int
    private let isOpen: Bool

    /// Returns the source.
    ///
    /// - Parameters:
    ///   - maker: the program and its version.
    ///   - isOpen: true if received enums have a case for what a newer server adds.
    package static func source(_ shapes: [FeatureShape], maker: String, isOpen: Bool = false) -> String {
        let declarations = Declarations(shapes)
        var code = CodeLines(unit: "    ")
        code.add("// Made by \(maker) from the Swift types of its features (`types --swift`). Do not edit.")
        if declarations.contain(where: \.isOfFoundation) {
            code.add()
            code.add("import Foundation")
        }
        for namespace in declarations.namespaces {
            code.add()
            add(namespace, of: declarations, isOpen, to: &code)
        }
        if declarations.contain(where: \.isAny) {
            code.add()
            for line in anyValue.split(separator: "\n", omittingEmptySubsequences: false) { code.add(String(line)) }
        }
        return code.text
    }

    private static func add(
        _ namespace: Declarations.Namespace, of declarations: Declarations, _ isOpen: Bool, to code: inout CodeLines
    ) {
        let summary = namespace.feature.map(\.summary) ?? Declarations.sharedSummary
        if !summary.isEmpty { code.add("/// \(summary.replacing("\n", with: " "))") }
        code.block("public enum \(namespace.name) {") { code in
            if let name = namespace.feature?.name { code.add("public static let name = \(quoted(name))") }
            for (index, declared) in namespace.definitions.enumerated() {
                if index > 0 || namespace.feature != nil { code.add() }
                SwiftTypes(declarations: declarations, feature: declared.feature, isOpen: isOpen)
                    .add(declared.definition, to: &code)
            }
        }
    }

    private func add(_ definition: TypeDefinition, to code: inout CodeLines) {
        if !definition.isComplete { code.add("/// The server's type does not tell all that it reads.") }
        let name = definition.name
        switch definition.kind {
        case .object(let members): addStruct(name, members.filter { $0.type != .never }, to: &code)
        case .cases(let cases):
            let shape = declarations.shapes[feature]
            let isRecursive = shape.reachable(from: definition).contains { shape.definitions[$0].id == definition.id }
            code.block("public \(isRecursive ? "indirect " : "")enum \(name): Codable, Hashable, Sendable {") { code in
                if isReceivedOpen(definition) { addOpenCases(cases, to: &code) } else { addCases(cases, to: &code) }
            }
        case .values(let values) where isReceivedOpen(definition): addOpen(name, values, to: &code)
        case .values(let values): add(name, values, to: &code)
        case .alias(let alias): code.add("public typealias \(name) = \(type(alias))")
        }
    }

    private func isReceivedOpen(_ definition: TypeDefinition) -> Bool { isOpen && declarations.isReceived(definition) }

    private func addStruct(_ name: String, _ members: [TypeDefinition.Member], to code: inout CodeLines) {
        let names = CodeNames.unique(members.map { CodeNames.identifier($0.name) })
        code.block("public struct \(name): Codable, Hashable, Sendable {") { code in
            for (member, property) in zip(members, names) {
                code.add("public var \(Self.escaped(property)): \(type(of: member))")
            }
            if !members.isEmpty { code.add() }
            let parameters = zip(members, names).map { member, property in
                "\(Self.escaped(property)): \(type(of: member))" + (member.isOptional ? " = nil" : "")
            }
            code.add("public init(\(parameters.joined(separator: ", "))) {\(members.isEmpty ? "}" : "")")
            for property in names { code.add("    self.\(Self.escaped(property)) = \(Self.escaped(property))") }
            if !members.isEmpty { code.add("}") }
            addKeys("CodingKeys", zip(names, members.map(\.name)), to: &code)
        }
    }

    private func addCases(_ cases: [TypeDefinition.Case], to code: inout CodeLines) {
        let names = CodeNames.unique(cases.map { CodeNames.identifier($0.name) })
        var keys: [(String, [(String, String)])] = [("CodingKeys", Array(zip(names, cases.map(\.name))))]
        for (one, name) in zip(cases, names) {
            let members = one.members.filter { $0.type != .never }
            let labels = CodeNames.unique(members.map { CodeNames.identifier($0.name) })
            let values = zip(members, labels).map { member, label in
                (member.isUnlabelled ? "" : "\(Self.escaped(label)): ") + type(of: member)
            }
            code.add(
                "case \(Self.escaped(name))" + (values.isEmpty ? "" : "(\(values.joined(separator: ", ")))"))
            keys.append(
                (
                    CodeNames.upperCamel(name) + "CodingKeys",
                    zip(labels, members).filter { !$0.1.isUnlabelled }.map { ($0, $1.name) }
                ))
        }
        for (name, pairs) in keys { addKeys(name, pairs, to: &code) }
    }

    /// Adds coding keys if names in Swift and in JSON differ.
    private func addKeys(_ name: String, _ pairs: some Sequence<(String, String)>, to code: inout CodeLines) {
        guard pairs.contains(where: { $0.0 != $0.1 }) else { return }
        code.add()
        code.block("private enum \(name): String, CodingKey {") { code in
            for (property, wire) in pairs { code.add("case \(Self.escaped(property)) = \(Self.quoted(wire))") }
        }
    }

    private func add(_ name: String, _ values: [TypeDefinition.Value], to code: inout CodeLines) {
        let names = CodeNames.unique(values.map { CodeNames.identifier($0.name) })
        let isText = if case .text? = values.first?.literal { true } else { false }
        let conformances = "\(isText ? "String" : "Int64"), Codable, CaseIterable, Hashable, Sendable"
        code.block("public enum \(name): \(conformances) {") { code in
            for (value, entry) in zip(values, names) {
                switch value.literal {
                case .text(let text) where text == entry: code.add("case \(Self.escaped(entry))")
                case .text(let text): code.add("case \(Self.escaped(entry)) = \(Self.quoted(text))")
                case .integer(let number): code.add("case \(Self.escaped(entry)) = \(number)")
                }
            }
        }
    }

    func type(of member: TypeDefinition.Member) -> String {
        let type = type(member.type)
        return member.isOptional && !type.hasSuffix("?") ? type + "?" : type
    }

    private func type(_ type: WireType) -> String {
        switch type {
        case .any, .unfit: "JSONValue"
        case .never: "Never"
        case .boolean: "Bool"
        case .integer(64, let isSigned): isSigned ? "Int" : "UInt"
        case .integer(let bits, let isSigned): "\(isSigned ? "Int" : "UInt")\(bits)"
        case .number(let bits): bits == 32 ? "Float" : "Double"
        case .decimal: "Decimal"
        case .duration: "Duration"
        case .string("date-time"): "Date"
        case .string("uri"): "URL"
        case .string("base64"): "Data"
        case .string: "String"
        case .array(let element): "[\(self.type(element))]"
        case .dictionary(let value): "[String: \(self.type(value))]"
        case .nullable(let wrapped): "\(self.type(wrapped))?"
        case .named(let index): declarations.name(of: index, in: feature)
        }
    }

    static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// Returns a JSON string with Swift's different escapes.
    static func quoted(_ text: String) -> String {
        CodeNames.quoted(text).replacing(#/\\u([0-9a-fA-F]{4})/#) { "\\u{\($0.output.1)}" }
            .replacing("\\b", with: "\\u{8}").replacing("\\f", with: "\\u{c}").replacing("\\/", with: "/")
    }

    private static let keywords: Set<String> = [
        "Any", "Protocol", "Self", "Type", "as", "associatedtype", "break", "case", "catch", "class", "continue",
        "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for",
        "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator",
        "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct",
        "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    private static let anyValue = """
        /// Any JSON value.
        public enum JSONValue: Codable, Hashable, Sendable {
            case null
            case boolean(Bool)
            case number(Double)
            case string(String)
            case array([JSONValue])
            case object([String: JSONValue])

            public init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if container.decodeNil() {
                    self = .null
                } else if let value = try? container.decode(Bool.self) {
                    self = .boolean(value)
                } else if let value = try? container.decode(Double.self) {
                    self = .number(value)
                } else if let value = try? container.decode(String.self) {
                    self = .string(value)
                } else if let value = try? container.decode([JSONValue].self) {
                    self = .array(value)
                } else {
                    self = .object(try container.decode([String: JSONValue].self))
                }
            }

            public func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .null: try container.encodeNil()
                case .boolean(let value): try container.encode(value)
                case .number(let value): try container.encode(value)
                case .string(let value): try container.encode(value)
                case .array(let value): try container.encode(value)
                case .object(let value): try container.encode(value)
                }
            }
        }
        """
}

extension FeatureShape {
    /// Returns the definitions that a definition refers to, directly or indirectly.
    fileprivate func reachable(from definition: TypeDefinition) -> Set<Int> {
        definition.references.reduce(into: []) { $0.formUnion(reachable(from: .named($1))) }
    }
}

extension WireType {
    fileprivate var isAny: Bool { self == .any }

    fileprivate var isOfFoundation: Bool {
        [.decimal, .string(format: "date-time"), .string(format: "uri"), .string(format: "base64")].contains(self)
    }
}
