import Logging
import MVI
import Schema
import Sessions

/// The wire types of a server's features as documents: JSON Schema, OpenAPI, and types in other languages. They are
/// derived from the Swift types of view states, intents and labels.
public struct FeatureTypes: Sendable {
    /// A language that types can be written in.
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

    /// Reads the types of what a server serves. Nothing is started; makers of keyed features are not called.
    ///
    /// Throws an error with a sentence for an operator where `FeatureServer.run` would: a feature's name or its examples do
    /// not fit the wire.
    public init(_ content: ServerContent) throws {
        let silent = Logger(label: "types") { _ in SwiftLogNoOpLogHandler() }
        definitions = try FeatureRegistry(
            try content.features.map { try $0.definition(makesExamples: false, silent) }
        ).definitions
        shapes = definitions.map { FeatureShape($0) }
    }

    /// The features' names, in the order in which they are served.
    public var names: [String] { definitions.map(\.name) }

    /// A JSON Schema (2020-12) of one feature: `$defs` has its `State`, `Intent` and `Label` and the types in them. Nil if
    /// there is no feature of that name.
    public func schema(of name: String) -> String? {
        shapes.first { $0.name == name }.map { JSONSchema($0).document(maker: ServerVersion.maker).lines() }
    }

    /// One JSON object with the schema of each feature, by its name.
    public func schemas() -> String {
        SchemaTree.object(shapes.map { ($0.name, JSONSchema($0).document(maker: ServerVersion.maker)) }).lines()
    }

    /// The OpenAPI document of a server with these features, in YAML: each feature's paths with its own states, intents and
    /// labels. The author's endpoints are not in it; `GET /openapi.yaml` of the running server lists them.
    public func openAPI() -> String {
        FeatureOpenAPI(zip(definitions, shapes).map { ($0, $1) }).document(DocumentEndpoints.openAPIText)
    }

    /// The types in a language, as one source file.
    public func source(in language: Language) -> String {
        switch language {
        case .typeScript: TypeScriptTypes.source(shapes, maker: ServerVersion.maker)
        case .kotlin: KotlinTypes.source(shapes, maker: ServerVersion.maker)
        case .swift: SwiftTypes.source(shapes, maker: ServerVersion.maker)
        }
    }
}

extension FeatureShape {
    /// Derives the wire types of a feature.
    init(_ feature: FeatureDefinition) {
        self.init(
            name: feature.name, isKeyed: feature.isKeyed, summary: feature.summary, state: feature.types.viewState,
            intent: feature.types.intent, label: feature.types.label)
    }
}
