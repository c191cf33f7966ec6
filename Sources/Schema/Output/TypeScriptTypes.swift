/// The features' types in TypeScript 4.4 or newer: a namespace for each feature, and `Features` with all of them by name.
package struct TypeScriptTypes {
    private let declarations: Declarations
    /// The feature whose definitions are declared.
    private let feature: Int
    /// The namespace in which they are declared.
    private let namespace: String
    private let isOpen: Bool

    /// Returns the source.
    ///
    /// - Parameters:
    ///   - maker: the program and its version.
    ///   - isOpen: true if received enums of texts have any other text, too.
    package static func source(_ shapes: [FeatureShape], maker: String, isOpen: Bool = false) -> String {
        let declarations = Declarations(shapes)
        var code = CodeLines(unit: "  ")
        code.add("// Made by \(maker) from the Swift types of its features (`types --typescript`). Do not edit.")
        code.add()
        code.add("/** The features by their names on the server. */")
        code.block("export interface Features {") { code in
            for namespace in declarations.namespaces {
                guard let shape = namespace.feature else { continue }
                let key = shape.isKeyed ? "[instance: `\(shape.name):${string}`]" : CodeNames.quoted(shape.name)
                let members = shape.roots.map { "\($0.name.lowercased()): \(namespace.name).\($0.name)" }
                code.add("\(key): { \(members.joined(separator: "; ")) };")
            }
        }
        for namespace in declarations.namespaces {
            code.add()
            add(namespace, of: declarations, isOpen, to: &code)
        }
        return code.text
    }

    private static func add(
        _ namespace: Declarations.Namespace, of declarations: Declarations, _ isOpen: Bool, to code: inout CodeLines
    ) {
        let summary = namespace.feature.map(\.summary) ?? Declarations.sharedSummary
        if !summary.isEmpty { code.add("/** \(summary.replacing("*/", with: "* /")) */") }
        code.block("export namespace \(namespace.name) {") { code in
            for (index, declared) in namespace.definitions.enumerated() {
                if index > 0 { code.add() }
                TypeScriptTypes(
                    declarations: declarations, feature: declared.feature, namespace: namespace.name, isOpen: isOpen
                ).add(declared.definition, to: &code)
            }
        }
    }

    private func add(_ definition: TypeDefinition, to code: inout CodeLines) {
        if !definition.isComplete { code.add("/** The Swift type does not tell all that it reads. */") }
        let name = definition.name
        switch definition.kind {
        case .object(let members) where members.isEmpty:
            code.add("export type \(name) = { [name: string]: unknown };")
        case .object(let members):
            code.block("export interface \(name) {") { code in
                for member in members { code.add(self.member(member) + ";") }
            }
        case .cases(let cases):
            let alternatives = cases.map { one in
                let members = ["type: \(CodeNames.quoted(one.name))"] + one.members.map { member($0) }
                return "  | { \(members.joined(separator: "; ")) }"
            }
            code.add("export type \(name) =\(cases.isEmpty ? " never;" : "")")
            for (index, line) in alternatives.enumerated() {
                code.add(line + (index == alternatives.count - 1 ? ";" : ""))
            }
        case .values(let values):
            var literals = values.map { value in
                switch value.literal {
                case .text(let text): CodeNames.quoted(text)
                case .integer(let number): "\(number)"
                }
            }
            // Editors still suggest the known texts.
            if isOpen, case .text? = values.first?.literal, declarations.isReceived(definition) {
                literals.append("(string & {})")
            }
            code.add("export type \(name) = \(literals.joined(separator: " | "));")
        case .alias(let alias): code.add("export type \(name) = \(type(alias));")
        }
    }

    private func member(_ member: TypeDefinition.Member) -> String {
        let isIdentifier = CodeNames.identifier(member.name) == member.name
        let name = isIdentifier ? member.name : CodeNames.quoted(member.name)
        return "\(name)\(member.isOptional ? "?" : ""): \(type(member.type))"
    }

    private func type(_ type: WireType) -> String {
        switch type {
        case .any, .unfit: "unknown"
        case .never: "never"
        case .boolean: "boolean"
        case .integer, .number, .decimal, .duration: "number"
        case .string: "string"
        case .array(let element):
            if case .nullable = element { "(\(self.type(element)))[]" } else { "\(self.type(element))[]" }
        case .dictionary(let value): "{ [name: string]: \(self.type(value)) }"
        case .nullable(let wrapped): "\(self.type(wrapped)) | null"
        case .named(let index): declarations.name(of: index, in: feature, inside: namespace)
        }
    }
}
