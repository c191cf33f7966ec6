import Logging
import MVIServer

extension JWTSettings {
    /// Loads the settings from flags, environment and configuration file, and checks them; nil if no JWT setting is
    /// there.
    ///
    /// A configuration file may also contain the server's settings and those in `others`; pass ``names`` as the others
    /// of `ServerSettings.load`.
    ///
    /// - Parameters:
    ///   - flags: by name without dashes, as `["jwt-issuer": "https://login.example.com/"]`.
    ///   - environment: the variables to read; nil for those of the process.
    ///   - others: names of further settings that the configuration file may contain.
    /// - Throws: `SettingError`, whose description has the given value, the expected one, and where to set it.
    public static func load(
        flags: [String: String] = [:], environment: [String: String]? = nil, others: [String] = []
    ) throws(SettingError) -> JWTSettings? {
        let names = names + ServerSettings.names + others
        let settings = try SettingsSource(flags: flags, environment: environment, known: names).read(JWTSettings.init)
        guard !settings.isEmpty else { return nil }
        try settings.check()
        return settings
    }

    /// Creates an authenticator for these settings; nil if there are none.
    ///
    /// - Throws: `SettingError` for settings that contradict each other or miss one, and the errors of
    ///   `JWTAuthenticator`.
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
