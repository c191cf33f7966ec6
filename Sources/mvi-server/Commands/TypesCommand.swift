import ArgumentParser
import MVIServer

/// `mvi-server types`: the features' types in another language.
struct TypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types",
        abstract: "Print the types of the features' states, intents and labels in a client's language.",
        discussion: """
            One source file. A server of your own has the same by FeatureServer.run(arguments:).
            """)

    @Flag(help: "The client's language.") var language: FeatureTypes.Language

    func run() async throws {
        try await reporting {
            StandardOutput.ignoreClosedPipe()
            _ = try StandardOutput.put(Array(try DemoTypes.read().source(in: language).utf8))
        }
    }
}

extension FeatureTypes.Language: EnumerableFlag {
    public static func name(for value: FeatureTypes.Language) -> NameSpecification { .customLong(value.rawValue) }

    public static func help(for value: FeatureTypes.Language) -> ArgumentHelp? {
        switch value {
        case .typeScript: "TypeScript 4.4 or newer."
        case .kotlin: "Kotlin 1.9 or newer with kotlinx.serialization."
        case .swift: "Swift 6."
        }
    }
}
