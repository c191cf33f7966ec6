/// Enums with a case for what a newer server adds.
extension KotlinTypes {
    /// Returns the sealed interface with such a case, and its class; nil for other types.
    func openCase(of definition: TypeDefinition) -> (type: String, unknown: String)? {
        guard isReceivedOpen(definition), case .cases(let cases) = definition.kind else { return nil }
        let type = "\(namespace).\(definition.name)"
        let names = CodeNames.unique(cases.map { Self.className($0.name) } + ["Unknown"])
        return (type, "\(type).\(names[cases.count])")
    }

    /// Returns true for an enum class with such an entry.
    func hasOpenValues(_ definition: TypeDefinition) -> Bool {
        guard isReceivedOpen(definition), case .values(let values) = definition.kind else { return false }
        return if case .text? = values.first?.literal { true } else { false }
    }

    static func addModule(_ openCases: [(type: String, unknown: String)], to code: inout CodeLines) {
        guard !openCases.isEmpty else { return }
        code.block("serializersModule = SerializersModule {") { code in
            for (type, unknown) in openCases {
                code.add("polymorphicDefaultDeserializer(\(type)::class) { \(unknown).serializer() }")
            }
        }
    }

    func addUnknown(_ className: String, of name: String, to code: inout CodeLines) {
        code.add("/** Sent by a newer server. It cannot be sent. */")
        code.add("@Serializable data class \(className)(val type: String) : \(namespace).\(name)")
    }

    static func addOpenSerializer(to code: inout CodeLines) {
        code.add()
        code.add("/** Reads a text that a newer server sends as the last entry, `unknown`. */")
        code.block(
            "open class OpenEnumSerializer<E : Enum<E>>(name: String, private val texts: List<String>, "
                + "private val entries: () -> Array<E>) : KSerializer<E> {"
        ) { code in
            code.add("override val descriptor = PrimitiveSerialDescriptor(name, PrimitiveKind.STRING)")
            code.add("override fun serialize(encoder: Encoder, value: E) =")
            code.add("    encoder.encodeString(texts.getOrElse(value.ordinal) { value.name })")
            code.add("override fun deserialize(decoder: Decoder): E {")
            code.add("    val index = texts.indexOf(decoder.decodeString())")
            code.add("    return entries()[if (index < 0) texts.size else index]")
            code.add("}")
        }
    }

    func addOpen(
        _ name: String, _ values: [TypeDefinition.Value], _ names: [String], to code: inout CodeLines
    ) {
        let texts = values.compactMap { value -> String? in
            if case .text(let text) = value.literal { Self.quoted(text) } else { nil }
        }
        code.add("@Serializable(with = \(namespace).\(name).Serializer::class)")
        code.block("enum class \(name) {") { code in
            for entry in names.dropLast() { code.add("\(Self.escaped(entry)),") }
            code.add("/** Sent by a newer server. */")
            code.add("\(Self.escaped(names[values.count]));")
            code.add()
            code.add("internal object Serializer : OpenEnumSerializer<\(namespace).\(name)>(")
            code.add(
                "    \(Self.quoted("\(namespace).\(name)")), listOf(\(texts.joined(separator: ", "))), { \(name).values() })"
            )
        }
    }
}
