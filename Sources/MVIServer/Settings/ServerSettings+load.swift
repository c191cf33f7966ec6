extension ServerSettings {
    /// All settings of a server, in the order of `--help`.
    package static let catalogue = [SettingDeclaration](of: ServerSettings.init)

    /// The names of all settings, including those that name a file with another one's value.
    package static var names: [String] { catalogue.withFileForms.map(\.name) }

    /// Returns the settings of flags, environment and configuration file, each checked, also against the others.
    ///
    /// - Parameters:
    ///   - flags: by name without dashes, as `["port": "9000"]`.
    ///   - environment: the environment variables; nil for the process's own.
    ///   - others: further names that the configuration file may have.
    /// - Throws: `SettingError`, whose description has the given value, the expected one, and the places to set it.
    public static func load(
        flags: [String: String] = [:], environment: [String: String]? = nil, others: [String] = []
    ) throws(SettingError) -> ServerSettings {
        try SettingsSource(flags: flags, environment: environment, known: names + others).read(ServerSettings.init)
    }
}
