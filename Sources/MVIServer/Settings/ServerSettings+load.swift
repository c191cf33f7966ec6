extension ServerSettings {
    /// Every setting of a server, in the order of `--help`.
    package static let catalogue = [SettingDeclaration](of: ServerSettings.init)

    /// The names of all, those included that name a file with another one's value.
    package static var names: [String] { catalogue.withFileForms.map(\.name) }

    /// The settings that flags, environment and configuration file give, checked one by one and together.
    ///
    /// - Parameters:
    ///   - flags: by name without dashes, as `["port": "9000"]`.
    ///   - environment: the variables to look at; nil for the process's own.
    ///   - others: names of settings of other parts, which the configuration file may hold too.
    /// - Throws: `SettingError`, whose description says what was given, what is expected, and where to set it.
    public static func load(
        flags: [String: String] = [:], environment: [String: String]? = nil, others: [String] = []
    ) throws(SettingError) -> ServerSettings {
        try SettingsSource(flags: flags, environment: environment, known: names + others).read(ServerSettings.init)
    }
}
