import Configuration

/// Where settings come from, the first that has one deciding: flags, environment, configuration file.
package struct SettingsSource: Sendable {
    private let reader: ConfigReader

    /// - Parameters:
    ///   - flags: what was given on the command line, by name without dashes.
    ///   - environment: the variables to look at; nil for the process's own.
    ///   - known: the names that there are. The flag `config`, else `MVI_CONFIG`, may name a file: a JSON object whose
    ///     members are among them.
    /// - Throws: `SettingError` if the file cannot be read, or sets what there is not.
    package init(
        flags: [String: String], environment: [String: String]? = nil, known: [String]
    ) async throws {
        let variables =
            environment.map { EnvironmentVariablesProvider(environmentVariables: $0) }
            ?? EnvironmentVariablesProvider()
        // Everything of the environment is under `MVI_`.
        let prefixed = variables.prefixKeys(with: "mvi")
        let given = Self.provider("flags", flags)

        let first = ConfigReader(providers: [given, prefixed])
        guard let path = first.string(forKey: "config") else {
            reader = first
            return
        }
        let file = Self.provider("file", try ConfigurationFile.texts(path, known: Set(known)))
        reader = ConfigReader(providers: [given, prefixed, file])
    }

    private static func provider(_ name: String, _ texts: [String: String]) -> InMemoryProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, text) in texts { values[[name]] = ConfigValue(.string(text), isSecret: false) }
        return InMemoryProvider(name: name, values: values)
    }

    /// A setting as text; a file may write numbers, booleans and lists of texts as such.
    package func text(_ name: String) -> String? { reader.string(forKey: ConfigKey([name])) }

    /// The settings of a catalogue, checked; those that are not given stay as `root` has them.
    package func apply<Root>(_ catalogue: [Setting<Root>], to root: inout Root) throws(SettingError) {
        for setting in catalogue {
            // An empty variable is one that was taken back, as in `MVI_PORT= mvi-server`.
            if let text = text(setting.name), !text.isEmpty { try setting.apply(text, &root) }
        }
    }
}

extension ServerSettings {
    /// The settings that flags, environment and configuration file give, checked one by one and together.
    ///
    /// - Parameters:
    ///   - flags: by name without dashes, as `["port": "9000"]`.
    ///   - environment: the variables to look at; nil for the process's own.
    ///   - others: names of settings of other parts, which the configuration file may hold too.
    /// - Throws: `SettingError`, whose description says what was given, what is expected, and where to set it.
    public static func load(
        flags: [String: String] = [:], environment: [String: String]? = nil, others: [String] = []
    ) async throws -> ServerSettings {
        var settings = ServerSettings()
        let source = try await SettingsSource(
            flags: flags, environment: environment, known: catalogue.map(\.name) + others)
        try source.apply(catalogue, to: &settings)
        return settings
    }
}
