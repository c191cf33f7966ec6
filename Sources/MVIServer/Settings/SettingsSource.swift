import Configuration

/// Where settings come from, the first that has one deciding: flags, environment, configuration file.
package struct SettingsSource: Sendable {
    private let flags: [String: String]
    private let variables: ConfigReader
    private var file: [String: String] = [:]

    /// - Parameters:
    ///   - flags: what was given on the command line, by name without dashes.
    ///   - environment: the variables to look at; nil for the process's own.
    ///   - known: the names that there are. The flag `config`, else `MVI_CONFIG`, may name a file: a JSON object whose
    ///     members are among them.
    /// - Throws: `SettingError` if the file cannot be read, or sets what there is not.
    package init(
        flags: [String: String], environment: [String: String]? = nil, known: [String]
    ) async throws {
        self.flags = flags
        variables = ConfigReader(
            provider: environment.map { EnvironmentVariablesProvider(environmentVariables: $0) }
                ?? EnvironmentVariablesProvider())
        guard let path = text("config", variable: "MVI_CONFIG") else { return }
        file = try ConfigurationFile.texts(path, known: Set(known))
    }

    /// A setting as text; a file may write numbers, booleans and lists of texts as such.
    package func text(_ name: String, variable: String) -> String? { flags[name] ?? value(of: variable) ?? file[name] }

    private func value(of variable: String) -> String? {
        variables.string(forKey: ConfigKey(variable.lowercased().split(separator: "_").map { String($0) }))
    }

    /// The settings of a catalogue, checked; those that are not given stay as `root` has them.
    package func apply<Root>(_ catalogue: [Setting<Root>], to root: inout Root) throws(SettingError) {
        for setting in catalogue {
            if let text = try text(of: setting) { try setting.apply(text, &root) }
        }
    }

    /// The text of a setting, or of the file that its other form names; nil if neither is given.
    package func text<Root>(of setting: Setting<Root>) throws(SettingError) -> String? {
        let text = given(setting)
        guard let form = setting.fileForm, let path = given(form) else { return text }
        guard text == nil else {
            throw SettingError(
                name: form.name, given: path,
                expected: "nothing, since --\(setting.name) is there: give one of the two", prefix: form.prefix)
        }
        return try setting.text(inFile: path)
    }

    /// The names of settings whose value has a secret and was given in a flag, which other users of the machine see.
    package func secretsInFlags<Root>(_ catalogue: [Setting<Root>]) -> [String] {
        catalogue.filter { setting in flags[setting.name].map { setting.holdsSecret?($0) ?? false } ?? false }.map(
            \.name)
    }

    /// The text of a setting. An empty variable is one that was taken back, as in `MVI_PORT= mvi-server`; an empty flag is a
    /// mistake.
    private func given<Root>(_ setting: Setting<Root>) -> String? {
        text(setting.name, variable: setting.environmentName).flatMap {
            $0.isEmpty && flags[setting.name] == nil ? nil : $0
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
            flags: flags, environment: environment, known: catalogue.withFileForms().map(\.name) + others)
        try source.apply(catalogue, to: &settings)
        return settings
    }
}
