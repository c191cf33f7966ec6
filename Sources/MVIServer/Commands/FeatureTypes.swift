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
    /// Throws the same errors as `FeatureServer.run` if a feature's name, examples or types are not valid on the wire.
    public init(_ content: ServerContent) throws {
        let silent = Logger(label: "types") { _ in SwiftLogNoOpLogHandler() }
        definitions = try FeatureRegistry(
            try content.features.map { try $0.definition(makesExamples: false, silent) }
        ).definitions
        shapes = try definitions.map { try FeatureShape(checking: $0) }
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

    /// Returns the changes since an earlier build that break installed apps, a line for each, in order of the features.
    ///
    /// An app reads states and labels with its old types, and sends intents of its old types. It ignores unknown members,
    /// and labels that it cannot read.
    ///
    /// - Parameters:
    ///   - old: the earlier build's ``schemas()``.
    ///   - openEnums: true if the apps' types were made with open enums.
    /// - Throws: ``ComparisonError`` if `old` is not such a document.
    public func breakingChanges(since old: String, openEnums: Bool = false) throws -> [String] {
        guard let before = try? SchemaDocuments(old), let after = try? SchemaDocuments(schemas()) else {
            throw ComparisonError()
        }
        return SchemaComparison(openEnums: openEnums).breakingChanges(from: before, to: after)
    }

    /// The error of a comparison with a text that is not a document of ``schemas()``.
    public struct ComparisonError: Error {}
}

extension FeatureShape {
    /// Reads the types of a feature's values.
    ///
    /// Throws `FeatureDefinitionError` if clients cannot use the JSON of one.
    init(checking feature: FeatureDefinition) throws {
        self.init(feature)
        let members = unfitMembers
        guard members.isEmpty else { throw FeatureDefinitionError.types(feature: feature.name, members: members) }
    }

    /// Reads the types of a feature's values.
    init(_ feature: FeatureDefinition) {
        self.init(
            name: feature.name, isKeyed: feature.isKeyed, summary: feature.summary, state: feature.types.viewState,
            intent: feature.types.intent, label: feature.types.label, presence: feature.types.presence)
    }
}
