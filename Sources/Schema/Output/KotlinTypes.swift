/// The features' types in Kotlin 1.9 or newer with kotlinx.serialization: an object for each feature, with a class for
/// each type and a sealed interface for each enum with cases.
package struct KotlinTypes {
    let shape: FeatureShape
    let namespace: String
    private let isOpen: Bool

    /// Returns the source.
    ///
    /// - Parameters:
    ///   - maker: the program and its version.
    ///   - isOpen: true if received enums have a case for what a newer server adds.
    package static func source(_ shapes: [FeatureShape], maker: String, isOpen: Bool = false) -> String {
        let types = zip(shapes, CodeNames.namespaces(shapes)).map {
            KotlinTypes(shape: $0, namespace: $1, isOpen: isOpen)
        }
        let openCases = types.flatMap(\.openCases)
        let hasOpenValues = types.contains { $0.hasOpenValues }
        var code = CodeLines(unit: "    ")
        code.add("// Made by \(maker) from the Swift types of its features (`types --kotlin`). Do not edit.")
        code.add(#"@file:Suppress("EnumEntryName", "unused")"#)
        code.add()
        if hasOpenValues { code.add("import kotlinx.serialization.KSerializer") }
        code.add("import kotlinx.serialization.SerialName")
        code.add("import kotlinx.serialization.Serializable")
        if hasOpenValues {
            code.add("import kotlinx.serialization.descriptors.PrimitiveKind")
            code.add("import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor")
            code.add("import kotlinx.serialization.encoding.Decoder")
            code.add("import kotlinx.serialization.encoding.Encoder")
        }
        code.add("import kotlinx.serialization.json.Json")
        code.add("import kotlinx.serialization.json.JsonElement")
        if !openCases.isEmpty { code.add("import kotlinx.serialization.modules.SerializersModule") }
        code.add()
        let hint = openCases.isEmpty ? "" : " Give it to the client: `RemoteServerOptions(json = mviJson)`."
        code.add("/** JSON as the server reads and writes it.\(hint) */")
        code.block("val mviJson = Json {") { code in
            code.add(#"classDiscriminator = "type""#)
            code.add("ignoreUnknownKeys = true")
            code.add("explicitNulls = false")
            addModule(openCases, to: &code)
        }
        if hasOpenValues { addOpenSerializer(to: &code) }
        for types in types {
            code.add()
            types.add(to: &code)
        }
        return code.text
    }

    private func add(to code: inout CodeLines) {
        if !shape.summary.isEmpty { code.add("/** \(shape.summary.replacing("*/", with: "* /")) */") }
        code.block("object \(namespace) {") { code in
            code.add("const val NAME = \(Self.quoted(shape.name))")
            for definition in shape.ordered {
                code.add()
                add(definition, to: &code)
            }
        }
    }

    private func add(_ definition: TypeDefinition, to code: inout CodeLines) {
        if !definition.isComplete { code.add("/** The Swift type does not tell all that it reads. */") }
        let name = definition.name
        switch definition.kind {
        case .object(let members):
            code.add("@Serializable")
            add("class \(name)", members, to: &code)
        case .cases(let cases):
            code.add("@Serializable")
            code.block("sealed interface \(name) {") { code in
                let names = CodeNames.unique(cases.map { Self.className($0.name) } + ["Unknown"])
                for (one, className) in zip(cases, names) {
                    code.add("@Serializable @SerialName(\(Self.quoted(one.name)))")
                    if one.members.isEmpty {
                        code.add("data object \(className) : \(namespace).\(name)")
                    } else {
                        add("class \(className)", one.members, suffix: " : \(namespace).\(name)", to: &code)
                    }
                }
                if isReceivedOpen(name) { addUnknown(names[cases.count], of: name, to: &code) }
            }
        case .values(let values): add(name, values, to: &code)
        case .alias(.never): code.add("@Serializable sealed interface \(name)")
        case .alias(let alias):
            code.add("@Serializable @JvmInline value class \(name)(val value: \(type(alias)))")
        }
    }

    private func add(
        _ declaration: String, _ members: [TypeDefinition.Member], suffix: String = "", to code: inout CodeLines
    ) {
        let members = members.filter { $0.type != .never }
        guard !members.isEmpty else { return code.add(declaration + suffix) }
        let names = CodeNames.unique(members.map { CodeNames.identifier($0.name) })
        code.block("data \(declaration)(", ")" + suffix) { code in
            for (member, name) in zip(members, names) {
                let serialName = name == member.name ? "" : "@SerialName(\(Self.quoted(member.name))) "
                var type = type(member.type)
                if member.isOptional { type += type.hasSuffix("?") ? " = null" : "? = null" }
                code.add("\(serialName)val \(Self.escaped(name)): \(type),")
            }
        }
    }

    private func add(_ name: String, _ values: [TypeDefinition.Value], to code: inout CodeLines) {
        let names = CodeNames.unique(values.map { Self.entryName($0.name) } + ["unknown"])
        // In kotlinx.serialization, enum entries are strings.
        guard case .text? = values.first?.literal else {
            return code.block("@Serializable @JvmInline value class \(name)(val value: Long) {") { code in
                code.block("companion object {") { code in
                    for (value, entry) in zip(values, names) {
                        guard case .integer(let number) = value.literal else { continue }
                        code.add("val \(Self.escaped(entry)) = \(name)(\(number))")
                    }
                }
            }
        }
        if isReceivedOpen(name) { return addOpen(name, values, names, to: &code) }
        code.add("@Serializable")
        code.block("enum class \(name) {") { code in
            for (value, entry) in zip(values, names) {
                guard case .text(let text) = value.literal else { continue }
                code.add("@SerialName(\(Self.quoted(text))) \(Self.escaped(entry)),")
            }
        }
    }

    func isReceivedOpen(_ name: String) -> Bool { isOpen && shape.received.contains(name) }

    private func type(_ type: WireType) -> String {
        switch type {
        case .any, .never: "JsonElement"
        case .boolean: "Boolean"
        case .integer(let bits, let isSigned):
            switch bits {
            case 8: isSigned ? "Byte" : "UByte"
            case 16: isSigned ? "Short" : "UShort"
            case 32: isSigned ? "Int" : "UInt"
            case 64: isSigned ? "Long" : "ULong"
            default: "JsonElement"
            }
        case .number(let bits): bits == 32 ? "Float" : "Double"
        case .string: "String"
        case .array(let element): "List<\(self.type(element))>"
        case .dictionary(let value): "Map<String, \(self.type(value))>"
        case .nullable(let wrapped): "\(self.type(wrapped))?"
        case .named(let index): "\(namespace).\(shape.definitions[index].name)"
        }
    }

    /// Returns the name of a case's class, distinct from the names of its members' types.
    static func className(_ name: String) -> String {
        let name = CodeNames.upperCamel(name)
        return CodeNames.taken.contains(name) ? name + "Case" : name
    }

    /// Returns the name of an entry, distinct from the members of all enums.
    private static func entryName(_ name: String) -> String {
        let name = CodeNames.identifier(name)
        return ["name", "ordinal", "entries", "values", "valueOf", "value"].contains(name) ? name + "_" : name
    }

    static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    static func quoted(_ text: String) -> String { CodeNames.quoted(text).replacing("$", with: "\\$") }

    /// Keywords that are never names (https://kotlinlang.org/docs/keyword-reference.html#hard-keywords).
    private static let keywords: Set<String> = [
        "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
        "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var",
        "when",
        "while",
    ]
}
