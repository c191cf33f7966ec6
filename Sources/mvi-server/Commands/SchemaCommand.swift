import ArgumentParser
import DemoFeatures
import Logging
import MVIServer

/// `mvi-server schema`: what the features look like on the wire.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of the features' states, intents and labels.",
        discussion: """
            One object with a schema (2020-12) of each feature, or the schema of one feature. With --openapi the OpenAPI \
            document of a server with these features. A server of your own has the same by \
            FeatureServer.run(arguments:).
            """)

    @Argument(help: "The feature's name, without a key.") var feature: String?
    @Flag(help: "The OpenAPI document, with the features' paths, states, intents and labels.") var openapi = false

    func validate() throws {
        if openapi, feature != nil { throw ValidationError("--openapi is of all features; leave the name out.") }
    }

    func run() async throws {
        try await reporting {
            StandardOutput.ignoreClosedPipe()
            let types = try DemoTypes.read()
            do {
                _ = try StandardOutput.put(Array(text(of: types).utf8))
            } catch let error as FeatureTypes.ArgumentError {
                throw CommandFailure(error.description)
            }
        }
    }

    private func text(of types: FeatureTypes) throws -> String {
        if let feature { return try types.existingSchema(of: feature) }
        return openapi ? types.openAPI() : types.schemas()
    }
}

/// The types of the features that this program serves.
enum DemoTypes {
    static func read() throws -> FeatureTypes {
        let silent = Logger(label: "types") { _ in SwiftLogNoOpLogHandler() }
        return try FeatureTypes(Demo(databasePath: nil, logger: silent).features)
    }
}
