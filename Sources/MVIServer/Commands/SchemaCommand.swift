import ArgumentParser

/// `schema`: prints the schemas of the features' wire types.
struct SchemaCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema",
            abstract: "Print the JSON Schema of the features' states, intents and labels.",
            discussion: """
                Prints one object with a schema (2020-12) of each feature, or the schema of one feature. With \
                --openapi, prints the OpenAPI document of a server with these features.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The feature's name, without a key.") var feature: String?
    @Flag(help: "Print the OpenAPI document, with the features' paths, states, intents and labels.") var openapi = false

    func validate() throws {
        if openapi, feature != nil { throw ValidationError("--openapi prints all features; omit the name.") }
    }

    func run() async throws {
        try await reporting {
            _ = try StandardOutput.put(Array(text(of: try await program.types()).utf8))
        }
    }

    private func text(of types: FeatureTypes) throws -> String {
        if let feature {
            guard let schema = types.schema(of: feature) else {
                throw CommandFailure(
                    "There is no feature '\(feature)'; there are \(types.names.joined(separator: ", ")).")
            }
            return schema
        }
        return openapi ? types.openAPI() : types.schemas()
    }
}
