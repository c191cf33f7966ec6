/// JSON Schema 2020-12 of a feature's types.
package struct JSONSchema {
    private let shape: FeatureShape
    /// The definitions that a client sends, in which `null` counts as an absent member.
    private let sent: Set<Int>
    /// Returns the target of references to a definition.
    private let target: (Int) -> String

    private init(_ shape: FeatureShape, sent: Set<Int>, target: @escaping (Int) -> String) {
        (self.shape, self.sent, self.target) = (shape, sent, target)
    }

    package init(_ shape: FeatureShape) {
        self.init(shape, sent: shape.reachable(from: shape.intent)) { Self.prefix + shape.definitions[$0].name }
    }

    private static let prefix = "#/$defs/"

    /// Returns the definitions of several features with their full names, such as `counter.State`: a list for each
    /// feature, and one for the types that several features use, such as `Shared.Money`.
    ///
    /// - Parameter prefix: the text before a full name in references.
    package static func components(
        of shapes: [FeatureShape], prefix: String
    ) -> [[(name: String, schema: SchemaTree)]] {
        let declarations = Declarations(shapes)
        func fullName(_ name: String, _ feature: FeatureShape?) -> String { "\(feature?.name ?? "Shared").\(name)" }
        let sent = shapes.map { $0.reachable(from: $0.intent) }
        let sentTypes = Set(zip(shapes, sent).flatMap { shape, sent in sent.compactMap { shape.definitions[$0].id } })
        let schemas = shapes.indices.map { feature in
            let shape = shapes[feature]
            let also = shape.definitions.indices.filter { index in
                shape.definitions[index].id.map { sentTypes.contains($0) } ?? false
            }
            return JSONSchema(shape, sent: sent[feature].union(also)) { index in
                let home = declarations.home(of: index, in: feature)
                return prefix + fullName(home.name, home.feature.map { shapes[$0] })
            }
        }
        return declarations.namespaces.map { namespace in
            namespace.definitions.map { declared in
                (
                    fullName(declared.definition.name, namespace.feature),
                    schemas[declared.feature].schema(declared.definition)
                )
            }
        }
    }

    /// Returns a document about the feature. Objects with `state`, `intent` and `label`, and with `presence` if clients see each
    /// other, conform to it, and each of them alone to the definition `State`, `Intent`, `Label` or `Presence`. `x-keyed` is true if an instance has a key.
    ///
    /// - Parameter maker: the program and its version.
    package func document(maker: String) -> SchemaTree {
        var members: [(String, SchemaTree)] = [
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("$comment", .text("Made by \(maker) from the feature's Swift types.")),
            ("title", .text(shape.name)),
        ]
        if !shape.summary.isEmpty { members.append(("description", .text(shape.summary))) }
        members.append(("type", .text("object")))
        if shape.isKeyed { members.append(("x-keyed", .boolean(true))) }
        members.append(
            ("properties", .object(shape.roots.map { ($0.name.lowercased(), Self.reference(Self.prefix + $0.name)) })))
        members.append(("$defs", .object(definitions())))
        return .object(members)
    }

    /// Returns all definitions by name: the feature's three types, then the others by their names.
    package func definitions() -> [(name: String, schema: SchemaTree)] {
        shape.ordered.map { ($0.name, schema($0)) }
    }

    private static func reference(_ target: String) -> SchemaTree { .object([("$ref", .text(target))]) }

    private func schema(_ definition: TypeDefinition) -> SchemaTree {
        let acceptsNull = sent.contains { index in
            let other = shape.definitions[index]
            return definition.id.map { $0 == other.id } ?? (definition.name == other.name)
        }
        var members: [(String, SchemaTree)] = []
        if !definition.isComplete {
            members.append(("$comment", .text("The type does not tell all that it reads; it may have more members.")))
        }
        switch definition.kind {
        case .cases(let cases): members.append(("oneOf", .array(cases.map { object($0, acceptsNull) })))
        case .object(let fields): members += object(fields, acceptsNull)
        case .values(let values):
            if let type = Self.type(of: values) { members.append(("type", .text(type))) }
            members.append(("enum", .array(values.map { Self.literal($0.literal) })))
        case .alias(let type):
            if case .object(let inner) = schema(type) { members += inner }
        }
        return .object(members)
    }

    private func object(_ one: TypeDefinition.Case, _ acceptsNull: Bool) -> SchemaTree {
        .object(object(one.members, acceptsNull, type: one.name))
    }

    private func object(
        _ fields: [TypeDefinition.Member], _ acceptsNull: Bool, type: String? = nil
    ) -> [(String, SchemaTree)] {
        var properties: [(String, SchemaTree)] = []
        var required: [SchemaTree] = []
        if let type {
            properties.append(("type", .object([("const", .text(type))])))
            required.append(.text("type"))
        }
        for field in fields {
            properties.append(
                (field.name, schema(field.isOptional && acceptsNull ? .nullable(field.type) : field.type)))
            if !field.isOptional { required.append(.text(field.name)) }
        }
        var members: [(String, SchemaTree)] = [("type", .text("object"))]
        if !properties.isEmpty { members.append(("properties", .object(properties))) }
        if !required.isEmpty { members.append(("required", .array(required))) }
        return members
    }

    private func schema(_ type: WireType) -> SchemaTree {
        switch type {
        case .any, .unfit: .object([])
        case .never: .object([("not", .object([]))])
        case .boolean: .object([("type", .text("boolean"))])
        case .integer(let bits, let isSigned): .object(Self.integer(bits, isSigned))
        case .number: .object([("type", .text("number"))])
        case .decimal: .object([("type", .text("number")), ("format", .text("decimal"))])
        case .duration: .object([("type", .text("number")), ("description", .text("seconds"))])
        case .string("base64"): .object([("type", .text("string")), ("contentEncoding", .text("base64"))])
        case .string(let format):
            .object([("type", .text("string"))] + (format.map { [("format", .text($0))] } ?? []))
        case .array(let element): .object([("type", .text("array")), ("items", schema(element))])
        case .dictionary(let value):
            .object([("type", .text("object")), ("additionalProperties", schema(value))])
        case .nullable(let wrapped): nullable(wrapped)
        case .named(let index): Self.reference(target(index))
        }
    }

    private func nullable(_ wrapped: WireType) -> SchemaTree {
        guard case .object(let members) = schema(wrapped) else { return .object([]) }
        if members.isEmpty { return .object([]) }
        guard members[0].0 == "type" else {
            return .object([("anyOf", .array([.object(members), .object([("type", .text("null"))])]))])
        }
        return .object([("type", .array([members[0].1, .text("null")]))] + members.dropFirst())
    }

    /// Returns the bounds of integers of up to 32 bits. Not all JSON readers represent larger ones exactly.
    private static func integer(_ bits: Int, _ isSigned: Bool) -> [(String, SchemaTree)] {
        var members: [(String, SchemaTree)] = [("type", .text("integer"))]
        if bits == 64 { members.append(("format", .text(isSigned ? "int64" : "uint64"))) }
        if bits <= 32 {
            let top = Int64(1) << Int64(isSigned ? bits - 1 : bits)
            members.append(("minimum", .integer(isSigned ? -top : 0)))
            members.append(("maximum", .integer(top - 1)))
        } else if !isSigned {
            members.append(("minimum", .integer(0)))
        }
        return members
    }

    private static func literal(_ literal: TypeDefinition.Value.Literal) -> SchemaTree {
        switch literal {
        case .text(let text): .text(text)
        case .integer(let number): .integer(number)
        }
    }

    private static func type(of values: [TypeDefinition.Value]) -> String? {
        switch values.first?.literal {
        case .text: "string"
        case .integer: "integer"
        case nil: nil
        }
    }
}
