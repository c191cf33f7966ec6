import Schema
import Sessions

/// The OpenAPI document of a server's features: the repository's file with each feature's own paths, states, intents
/// and labels instead of the generic ones.
///
/// Works on the file's lines, whose form tests check. JSON is valid YAML (YAML 1.2 section 1.3).
struct FeatureOpenAPI {
    private let features: [(definition: FeatureDefinition, shape: FeatureShape)]

    init(_ features: [(FeatureDefinition, FeatureShape)]) { self.features = features }

    /// The paths of each feature.
    private static let paths = ["/features/{id}/state", "/features/{id}/intents", "/features/{id}/events"]
    /// The components of each feature, by kind. The schemas are generated from its types.
    fileprivate static let components = [
        ("links", ["ReadState", "ReadChangedState", "StreamFeature", "DisposeStore"]),
        ("responses", ["StoreGone", "IntentAccepted", "IntentState", "IntentDone", "Stream"]),
        ("schemas", ["StateEvent", "LabelEvent"]),
    ]
    fileprivate static let valueSchemas = ["State", "Intent", "Label"]

    /// Returns the file with the features in it; unchanged without features.
    func document(_ file: String) -> String {
        guard !features.isEmpty else { return file }
        var lines = YAMLLines(file)
        for path in Self.paths {
            let block = lines.block("  \(path):")
            lines.replace(block, by: features.flatMap { FeatureLines($0.definition).path(lines[block]) })
        }
        let schemas = JSONSchema.components(of: features.map(\.shape), prefix: "#/components/schemas/")
        for (kind, names) in Self.components {
            // Components that another path still refers to stay.
            let stay = ["Stream", "StateEvent", "LabelEvent"]
            var added: [String] = []
            for (index, feature) in features.enumerated() {
                let text = FeatureLines(feature.definition)
                for name in names {
                    let block = Array(lines[lines.block("    \(name):", under: "  \(kind):")])
                    added.append("    \(feature.definition.name).\(name):")
                    added += text.specialized(block.dropFirst())
                }
                if kind == "schemas" { added += Self.lines(schemas[index]) }
            }
            if kind == "schemas" { added += schemas.dropFirst(features.count).flatMap(Self.lines) }
            for name in names where !stay.contains(name) {
                lines.replace(lines.block("    \(name):", under: "  \(kind):"), by: [])
            }
            lines.insert(added, below: "  \(kind):")
        }
        for name in Self.valueSchemas {
            let references = features.map { "{ $ref: \"#/components/schemas/\($0.definition.name).\(name)\" }" }
            lines.replace(
                lines.block("    \(name):", under: "  schemas:"),
                by: ["    \(name):", "      anyOf: [\(references.joined(separator: ", "))]"])
        }
        lines.replace(lines.block("    FeatureId:", under: "  parameters:"), by: [])
        let first = features[0].definition
        let instance = FeatureLines(first).instance
        lines.change("    FeatureName:", under: "  parameters:", "example: counter", to: "example: \(first.name)")
        lines.change(
            "    FeatureQuery:", under: "  parameters:", "example: [counter, \"order-detail:42\"]",
            to: "example: [\(instance)]")
        // The generic links and examples do not apply to one feature.
        for member in ["          links:", "              example:"] {
            lines.replace(lines.block(member, under: "  /features/{name}:"), by: [])
        }
        return lines.text
    }

    private static func lines(_ schemas: [(name: String, schema: SchemaTree)]) -> [String] {
        schemas.flatMap { name, schema in
            ["    \(name):"] + schema.lines().split(separator: "\n").map { "      \($0)" }
        }
    }
}

/// The generic lines, adapted to one feature.
private struct FeatureLines {
    private let feature: FeatureDefinition

    init(_ feature: FeatureDefinition) { self.feature = feature }

    /// The lines of one of its paths.
    func path(_ lines: some Sequence<String>) -> [String] {
        var lines = specialized(lines)
        if feature.spaces != nil {
            lines.insert("    description: A shared store. All sessions that may use the feature have the same.", at: 1)
        }
        return lines
    }

    func specialized(_ lines: some Sequence<String>) -> [String] {
        var result: [String] = []
        var isExample = false
        for line in lines {
            if isExample, line.isEmpty || line.hasPrefix("            ") { continue }
            // The stream's example is of the counter.
            isExample = line == "          example: |"
            if isExample { continue }
            if line.hasSuffix("#/components/parameters/FeatureId\" }") {
                if feature.isKeyed { result.append(keyParameter) } else { result.removeLast() }
            } else if line.hasSuffix(" examples:") {
                result.append(line)
                result += examples(indent: line.prefix { $0 == " " }.count + 2)
            } else if line.contains(": { value: { type: ") {
                continue
            } else if line.hasSuffix("example: { count: 10, isLoading: false }") {
                guard let state = feature.stateExample else { continue }
                result.append(
                    line.replacing("{ count: 10, isLoading: false }", with: String(decoding: state, as: UTF8.self)))
            } else if let line = specialized(line) {
                result.append(line)
            }
        }
        return result
    }

    private var keyParameter: String {
        let keys = feature.exampleKeys.map { "\(quoted($0)): { value: \(quoted($0)) }" }.joined(separator: ", ")
        return "      - { name: key, in: path, required: true, description: The instance's key., "
            + #"schema: { type: string, pattern: "^[A-Za-z0-9._~-]{1,64}$" }"#
            + (keys.isEmpty ? " }" : ", examples: { \(keys) } }")
    }

    /// The path of an instance.
    var instance: String {
        feature.isKeyed ? quoted("\(feature.name):\(feature.exampleKeys.first ?? "1")") : feature.name
    }

    private func specialized(_ line: String) -> String? {
        let name = feature.name
        var line = line
        if line.hasPrefix("  /features/{id}/") {
            return line.replacing("/{id}/", with: feature.isKeyed ? "/\(name):{key}/" : "/\(name)/")
        }
        if line.hasSuffix("parameters: { id: $request.path.id }") {
            guard feature.isKeyed else { return nil }
            return line.replacing("id: $request.path.id", with: "key: $request.path.key")
        }
        line = line.replacing(
            "path.id: $request.path.id, ", with: feature.isKeyed ? "path.key: $request.path.key, " : "")
        line = line.replacing(#/operationId: (read|dispose|send|stream)(State|Store|Intent|Feature)(\w*)$/#) {
            "\($0.output.0)-\(name)"
        }
        line = line.replacing(#/#\/components\/(\w+)\/(\w+)"/#) { match in
            let (reference, kind, component) = match.output
            let isOwn =
                FeatureOpenAPI.components.contains { $0.0 == kind && $0.1.contains(String(component)) }
                || (kind == "schemas" && FeatureOpenAPI.valueSchemas.contains(String(component)))
            return isOwn ? "#/components/\(kind)/\(name).\(component)\"" : String(reference)
        }
        return line.replacing("feature: counter, ", with: "feature: \(instance), ")
    }

    /// An example of each intent, by its type.
    private func examples(indent: Int) -> [String] {
        var seen: Set<String> = []
        let examples = zip(feature.intentTypes, feature.intentExamples).filter { seen.insert($0.0).inserted }
        return examples.map { type, example in
            let value = String(decoding: example, as: UTF8.self)
            return String(repeating: " ", count: indent) + "\(quoted(type)): { value: \(value) }"
        }
    }

    private func quoted(_ text: String) -> String { String(decoding: [UInt8].json(text), as: UTF8.self) }
}
