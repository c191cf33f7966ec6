extension FeatureTypes {
    /// Arguments that ask for no document there is.
    public struct ArgumentError: Error, CustomStringConvertible, Sendable {
        /// What is wrong, and what can be asked for.
        public let description: String
    }

    /// Whether a program's arguments, without its own name, ask for a document: `schema …` or `types …`.
    public static func isMeant(by arguments: [String]) -> Bool { ["schema", "types"].contains(arguments.first) }

    /// The document that a program's arguments, without its own name, ask for:
    ///
    /// * `schema`: the schemas of all features; `schema counter`: of one; `schema --openapi`: the OpenAPI document
    /// * `types --typescript`, `types --kotlin`, `types --swift`
    ///
    /// Throws `ArgumentError` for anything else.
    public func document(for arguments: [String]) throws -> String {
        switch (arguments.first, arguments.dropFirst().first, arguments.count) {
        case ("schema", nil, 1): return schemas()
        case ("schema", "--openapi", 2): return openAPI()
        case ("schema", let name?, 2) where !name.hasPrefix("-"): return try existingSchema(of: name)
        case ("types", let option?, 2):
            if let language = Language.allCases.first(where: { option == "--\($0.rawValue)" }) {
                return source(in: language)
            }
        default: break
        }
        throw ArgumentError(
            description: "usage: schema [<feature> | --openapi], or types --typescript | --kotlin | --swift")
    }

    /// The schema of a feature; throws `ArgumentError` with the features' names if there is none of that name.
    package func existingSchema(of name: String) throws -> String {
        guard let schema = schema(of: name) else {
            throw ArgumentError(
                description: "There is no feature '\(name)'; there are \(names.joined(separator: ", ")).")
        }
        return schema
    }
}

extension FeatureServer {
    /// What the server's features look like on the wire. Throws as `FeatureTypes.init` does.
    public func types() throws -> FeatureTypes { try FeatureTypes(content) }

    /// Serves; or, if the arguments ask for a document of the features' types (`schema` or `types`), prints it and returns.
    ///
    /// ```swift
    /// try await FeatureServer { Counter() }.run(arguments: Array(CommandLine.arguments.dropFirst()))
    /// ```
    ///
    /// - Parameter arguments: those of the program, without its own name. Other arguments are left to the program.
    /// - Throws: as `run()`, `types()` and `FeatureTypes.document(for:)` do.
    public func run(arguments: [String]) async throws {
        guard FeatureTypes.isMeant(by: arguments) else { return try await run() }
        print(try types().document(for: arguments), terminator: "")
    }
}
