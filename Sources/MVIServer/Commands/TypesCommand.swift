import ArgumentParser

/// `types`: prints the features' types in another language.
struct TypesCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "types",
            abstract: "Print the types of the features' states, intents and labels in a client's language.",
            usage: "\(Command.name) types --typescript | --kotlin | --swift [--open-enums]",
            discussion: "One source file.")
    }

    @ParentCommand var program: ServerProgram<Command>

    @Flag(help: "The client's language.") var language: FeatureTypes.Language
    @Flag(help: "Enums of states and labels can hold what a newer server adds.") var openEnums = false

    func run() async throws {
        try await reporting {
            let source = try await program.types().source(in: language, openEnums: openEnums)
            _ = try StandardOutput.put(Array(source.utf8))
        }
    }
}

extension FeatureTypes.Language: EnumerableFlag {
    /// The flag, such as `--typescript`.
    public static func name(for value: FeatureTypes.Language) -> NameSpecification { .customLong(value.rawValue) }

    /// The language's versions.
    public static func help(for value: FeatureTypes.Language) -> ArgumentHelp? {
        switch value {
        case .typeScript: "TypeScript 4.4 or newer."
        case .kotlin: "Kotlin 1.9 or newer with kotlinx.serialization."
        case .swift: "Swift 6."
        }
    }
}
