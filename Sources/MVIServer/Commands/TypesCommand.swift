import ArgumentParser

/// `types`: prints the features' types in another language, or compares them with those of an earlier build.
struct TypesCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "types",
            abstract: "Print the types of the features' states, intents and labels in a client's language.",
            usage: """
                \(Command.name) types --typescript | --kotlin | --swift [--open-enums]
                \(Command.name) types --check <old> [--open-enums]
                """,
            discussion: """
                One source file. With --check, lists the changes that break installed apps, and exits with 1 if there \
                are any.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Flag(help: "The client's language.") var language: FeatureTypes.Language?
    @Flag(help: "Enums of states and labels can hold what a newer server adds.") var openEnums = false
    @Option(help: "Compare with this file, which an earlier build printed with `schema`.") var check: String?

    func validate() throws {
        guard (language == nil) != (check == nil) else {
            throw ValidationError("Give one of --typescript, --kotlin, --swift and --check.")
        }
    }

    func run() async throws {
        try await reporting {
            let types = try await program.types()
            if let language {
                _ = try StandardOutput.put(Array(types.source(in: language, openEnums: openEnums).utf8))
            } else if let check {
                try compare(types, with: check)
            }
        }
    }

    private func compare(_ types: FeatureTypes, with path: String) throws {
        let old: [UInt8]
        do throws(SettingFile.Unreadable) { old = try SettingFile.bytes(path, longest: 1 << 26) } catch {
            throw CommandFailure("'\(path)' is needed, but \(error.reason).")
        }
        let breaking: [String]
        do {
            breaking = try types.breakingChanges(since: String(decoding: old, as: UTF8.self), openEnums: openEnums)
        } catch is FeatureTypes.ComparisonError {
            throw CommandFailure(
                "'\(path)' is not what `\(Command.name) schema` prints. Keep that output with each release of an app.")
        }
        let lines = breaking.isEmpty ? ["Nothing breaks installed apps."] : breaking
        _ = try StandardOutput.put(Array((lines.joined(separator: "\n") + "\n").utf8))
        if !breaking.isEmpty { throw ExitCode(1) }
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
