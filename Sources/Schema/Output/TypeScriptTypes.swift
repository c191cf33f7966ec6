/// The features' types in TypeScript 4.4 or newer: a namespace for each feature, and `Features` with all of them by name.
package struct TypeScriptTypes {
    private let shapes: [FeatureShape]
    private let namespaces: [String]
    private let isOpen: Bool

    /// Returns the source.
    ///
    /// - Parameters:
    ///   - maker: the program and its version.
    ///   - isOpen: true if received enums of texts have any other text, too.
    package static func source(_ shapes: [FeatureShape], maker: String, isOpen: Bool = false) -> String {
        TypeScriptTypes(shapes: shapes, namespaces: CodeNames.namespaces(shapes), isOpen: isOpen).source(maker)
    }

    private func source(_ maker: String) -> String {
        var code = CodeLines(unit: "  ")
        code.add("// Made by \(maker) from the Swift types of its features (`types --typescript`). Do not edit.")
        code.add()
        code.add("/** The features by their names on the server. */")
        code.block("export interface Features {") { code in
            for (shape, namespace) in zip(shapes, namespaces) {
                let name = CodeNames.quoted(shape.name)
                let key = shape.isKeyed ? "[instance: `\(shape.name):${string}`]" : name
                code.add(
                    "\(key): { state: \(namespace).State; intent: \(namespace).Intent; label: \(namespace).Label };")
            }
        }
        for (shape, namespace) in zip(shapes, namespaces) {
            code.add()
            if !shape.summary.isEmpty { code.add("/** \(shape.summary.replacing("*/", with: "* /")) */") }
            code.block("export namespace \(namespace) {") { code in
                for (index, definition) in shape.ordered.enumerated() {
                    if index > 0 { code.add() }
                    add(definition, of: shape, to: &code)
                }
            }
        }
        return code.text
    }

    private func add(_ definition: TypeDefinition, of shape: FeatureShape, to code: inout CodeLines) {
        if !definition.isComplete { code.add("/** The Swift type does not tell all that it reads. */") }
        let name = definition.name
        switch definition.kind {
        case .object(let members) where members.isEmpty:
            code.add("export type \(name) = { [name: string]: unknown };")
        case .object(let members):
            code.block("export interface \(name) {") { code in
                for member in members { code.add(self.member(member, shape) + ";") }
            }
        case .cases(let cases):
            let alternatives = cases.map { one in
                let members = ["type: \(CodeNames.quoted(one.name))"] + one.members.map { member($0, shape) }
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
            if isOpen, case .text? = values.first?.literal, shape.received.contains(name) {
                literals.append("(string & {})")
            }
            code.add("export type \(name) = \(literals.joined(separator: " | "));")
        case .alias(let alias): code.add("export type \(name) = \(type(alias, shape));")
        }
    }

    private func member(_ member: TypeDefinition.Member, _ shape: FeatureShape) -> String {
        let isIdentifier = CodeNames.identifier(member.name) == member.name
        let name = isIdentifier ? member.name : CodeNames.quoted(member.name)
        return "\(name)\(member.isOptional ? "?" : ""): \(type(member.type, shape))"
    }

    private func type(_ type: WireType, _ shape: FeatureShape) -> String {
        switch type {
        case .any: "unknown"
        case .never: "never"
        case .boolean: "boolean"
        case .integer, .number: "number"
        case .string: "string"
        case .array(let element):
            if case .nullable = element { "(\(self.type(element, shape)))[]" } else { "\(self.type(element, shape))[]" }
        case .dictionary(let value): "{ [name: string]: \(self.type(value, shape)) }"
        case .nullable(let wrapped): "\(self.type(wrapped, shape)) | null"
        case .named(let index): shape.definitions[index].name
        }
    }
}
