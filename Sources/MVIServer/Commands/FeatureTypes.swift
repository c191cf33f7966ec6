import Logging
import MVI
import Schema
import Sessions

/// Documents about the wire types of a server's features for clients and their tools: JSON Schema, OpenAPI, and types
/// in other languages. They are generated from the Swift types of view states, intents and labels.
public struct FeatureTypes: Sendable {
    /// A language for generated types.
    public enum Language: String, CaseIterable, Sendable {
        /// TypeScript 4.4 or newer.
        case typeScript = "typescript"
        /// Kotlin 1.9 or newer with kotlinx.serialization.
        case kotlin
        /// Swift 6.
        case swift
    }

    private let definitions: [FeatureDefinition]
    private let shapes: [FeatureShape]

    /// Reads the types of a server's content. Starts nothing, and does not call makers of keyed features.
    ///
    /// Throws the same errors as `FeatureServer.run` if a feature's name or its examples are not valid on the wire.
    public init(_ content: ServerContent) throws {
        let silent = Logger(label: "types") { _ in SwiftLogNoOpLogHandler() }
        definitions = try FeatureRegistry(
            try content.features.map { try $0.definition(makesExamples: false, silent) }
        ).definitions
        shapes = definitions.map { FeatureShape($0) }
    }

    /// The features' names, in order.
    public var names: [String] { definitions.map(\.name) }

    /// Returns the JSON Schema (2020-12) of a feature: `$defs` has its `State`, `Intent` and `Label` and the types in
    /// them. Nil for an unknown name.
    public func schema(of name: String) -> String? {
        shapes.first { $0.name == name }.map { JSONSchema($0).document(maker: ServerVersion.maker).lines() }
    }

    /// Returns one JSON object with the schema of each feature, by name.
    public func schemas() -> String {
        SchemaTree.object(shapes.map { ($0.name, JSONSchema($0).document(maker: ServerVersion.maker)) }).lines()
    }

    /// Returns the OpenAPI document of a server with these features, in YAML: each feature's paths with its own states,
    /// intents and labels. It has no custom endpoints; `GET /openapi.yaml` of the running server lists them.
    public func openAPI() -> String {
        FeatureOpenAPI(zip(definitions, shapes).map { ($0, $1) }).document(DocumentEndpoints.openAPIText)
    }

    /// Returns the types in a language, as one source file.
    ///
    /// - Parameters:
    ///   - language: the language.
    ///   - openEnums: true if enums of states and labels can hold what a newer server adds: a case `unknown` in Swift and
    ///     Kotlin; in TypeScript any other text, for enums of texts.
    public func source(in language: Language, openEnums: Bool = false) -> String {
        switch language {
        case .typeScript: TypeScriptTypes.source(shapes, maker: ServerVersion.maker, isOpen: openEnums)
        case .kotlin: KotlinTypes.source(shapes, maker: ServerVersion.maker, isOpen: openEnums)
        case .swift: SwiftTypes.source(shapes, maker: ServerVersion.maker, isOpen: openEnums)
        }
    }
}

extension FeatureShape {
    /// Reads the types of a feature's values.
    init(_ feature: FeatureDefinition) {
        self.init(
            name: feature.name, isKeyed: feature.isKeyed, summary: feature.summary, state: feature.types.viewState,
            intent: feature.types.intent, label: feature.types.label)
    }
}
