import Logging
import MVIServer

extension JWTSettings {
    /// The settings that flags, environment and configuration file give, checked one by one and together; nil if there
    /// are none of JWTs.
    ///
    /// A configuration file may hold the server's settings too, and those in `others`; `ServerSettings.load` takes
    /// ``names`` as others in turn.
    ///
    /// - Parameters:
    ///   - flags: by name without dashes, as `["jwt-issuer": "https://login.example.com/"]`.
    ///   - environment: the variables to look at; nil for the process's own.
    ///   - others: names of further settings that the configuration file may hold.
    /// - Throws: `SettingError`, whose description says what was given, what is expected, and where to set it.
    public static func load(
        flags: [String: String] = [:], environment: [String: String]? = nil, others: [String] = []
    ) throws(SettingError) -> JWTSettings? {
        let names = names + ServerSettings.names + others
        let settings = try SettingsSource(flags: flags, environment: environment, known: names).read(JWTSettings.init)
        guard !settings.isEmpty else { return nil }
        try settings.check()
        return settings
    }

    /// An authenticator for these settings; nil if there are none.
    ///
    /// - Throws: `SettingError` for settings that contradict each other or miss one, and what `JWTAuthenticator` throws.
    public func authenticator(logger: Logger) async throws -> JWTAuthenticator? {
        guard !isEmpty else { return nil }
        try check()
        return try await JWTAuthenticator(self, logger: logger)
    }

    /// The names of the settings: flags without dashes.
    public static var names: [String] { catalogue.withFileForms.map(\.name) }

    /// The settings, in the order of `--help`.
    package static var catalogue: [SettingDeclaration] { [SettingDeclaration](of: JWTSettings.init) }
}
