/// The features' types in Kotlin 1.9 or newer with kotlinx.serialization: an object for each feature and
/// one for types of several features, with a class for each type and a sealed interface for each enum with cases.
package struct KotlinTypes {
    private let declarations: Declarations
    /// The feature whose definitions are declared.
    private let feature: Int
    /// The namespace in which they are declared.
    let namespace: String
    private let isOpen: Bool

    /// Returns the source.
    ///
    /// - Parameters:
    ///   - maker: the program and its version.
    ///   - isOpen: true if received enums have a case for what a newer server adds.
    package static func source(_ shapes: [FeatureShape], maker: String, isOpen: Bool = false) -> String {
        let declarations = Declarations(shapes)
        let namespaces = declarations.namespaces
        let types = namespaces.flatMap { namespace in
            namespace.definitions.map { declared in
                (
                    KotlinTypes(
                        declarations: declarations, feature: declared.feature, namespace: namespace.name,
                        isOpen: isOpen), declared.definition
                )
            }
        }
        let openCases = types.compactMap { $0.openCase(of: $1) }
        let hasOpenValues = types.contains { $0.hasOpenValues($1) }
        let values = KotlinValue.all.filter { declarations.contain(where: $0.isFor) }
        var code = CodeLines(unit: "    ")
        code.add("// Made by \(maker) from the Swift types of its features (`types --kotlin`). Do not edit.")
        code.add(#"@file:Suppress("EnumEntryName", "unused")"#)
        let serializers = values.map { "\($0.serializer)::class" }.joined(separator: ", ")
        if !values.isEmpty { code.add("@file:UseSerializers(\(serializers))") }
        code.add()
        for name in imports(values, hasOpenValues: hasOpenValues, hasOpenCases: !openCases.isEmpty) {
            code.add("import \(name)")
        }
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
        for value in values {
            code.add()
            for line in value.code.split(separator: "\n", omittingEmptySubsequences: false) { code.add(String(line)) }
        }
        var rest = types[...]
        for namespace in namespaces {
            code.add()
            add(namespace, rest.prefix(namespace.definitions.count), to: &code)
            rest = rest.dropFirst(namespace.definitions.count)
        }
        return code.text
    }

    private static func imports(_ values: [KotlinValue], hasOpenValues: Bool, hasOpenCases: Bool) -> [String] {
        var names: Set = ["SerialName", "Serializable", "json.Json", "json.JsonElement"]
        if hasOpenValues || !values.isEmpty {
            names.formUnion([
                "KSerializer", "descriptors.PrimitiveKind", "descriptors.PrimitiveSerialDescriptor",
                "encoding.Decoder", "encoding.Encoder",
            ])
        }
        if hasOpenCases { names.insert("modules.SerializersModule") }
        if !values.isEmpty { names.insert("UseSerializers") }
        return Set(values.flatMap(\.imports)).union(names.map { "kotlinx.serialization.\($0)" }).sorted()
    }

    private static func add(
        _ namespace: Declarations.Namespace, _ types: some Sequence<(KotlinTypes, TypeDefinition)>,
        to code: inout CodeLines
    ) {
        let summary = namespace.feature.map(\.summary) ?? Declarations.sharedSummary
        if !summary.isEmpty { code.add("/** \(summary.replacing("*/", with: "* /")) */") }
        code.block("object \(namespace.name) {") { code in
            if let name = namespace.feature?.name { code.add("const val NAME = \(quoted(name))") }
            for (index, (type, definition)) in types.enumerated() {
                if index > 0 || namespace.feature != nil { code.add() }
                type.add(definition, to: &code)
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
                if isReceivedOpen(definition) { addUnknown(names[cases.count], of: name, to: &code) }
            }
        case .values(let values): add(definition, values, to: &code)
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

    private func add(_ definition: TypeDefinition, _ values: [TypeDefinition.Value], to code: inout CodeLines) {
        let name = definition.name
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
        if isReceivedOpen(definition) { return addOpen(name, values, names, to: &code) }
        code.add("@Serializable")
        code.block("enum class \(name) {") { code in
            for (value, entry) in zip(values, names) {
                guard case .text(let text) = value.literal else { continue }
                code.add("@SerialName(\(Self.quoted(text))) \(Self.escaped(entry)),")
            }
        }
    }

    func isReceivedOpen(_ definition: TypeDefinition) -> Bool { isOpen && declarations.isReceived(definition) }

    private func type(_ type: WireType) -> String {
        switch type {
        case .any, .unfit, .never: "JsonElement"
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
        case .decimal: "BigDecimal"
        case .duration: "Duration"
        case .string("date-time"): "Instant"
        case .string: "String"
        case .array(let element): "List<\(self.type(element))>"
        case .dictionary(let value): "Map<String, \(self.type(value))>"
        case .nullable(let wrapped): "\(self.type(wrapped))?"
        case .named(let index): declarations.name(of: index, in: feature)
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
