#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The sources of settings in order of precedence: flags, environment, configuration file.
package struct SettingsSource: Sendable {
    private let flags: [String: String]
    private let environment: [String: String]?
    private var file: [String: String] = [:]

    /// The configuration file, which none names in turn.
    package static let configuration = SettingDeclaration(
        name: "config", prefix: "MVI", valueName: "file",
        summary: "JSON file with one object, its members named like the flags.")

    /// - Parameters:
    ///   - flags: what was given on the command line, by name without dashes.
    ///   - environment: the variables to look at; nil for the process's own.
    ///   - known: the names that there are. The flag `config`, else `MVI_CONFIG`, may name a file: a JSON object whose
    ///     members are among them.
    /// - Throws: `SettingError` if the file cannot be read, or sets what there is not.
    package init(
        flags: [String: String], environment: [String: String]? = nil, known: [String]
    ) throws(SettingError) {
        (self.flags, self.environment) = (flags, environment)
        guard let path = text("config", variable: Self.configuration.environmentName) else { return }
        file = try ConfigurationFile.texts(path, known: Set(known))
    }

    /// A setting as text; a file may write numbers, booleans and lists of texts as such.
    package func text(_ name: String, variable: String) -> String? {
        flags[name] ?? (environment.map { $0[variable] } ?? Self.variable(variable)) ?? file[name]
    }

    /// A variable of the process.
    package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// A value whose settings are those that were given, and are checked.
    ///
    /// - Parameter prefix: what the variables' names begin with.
    package func read<Root>(prefix: String = "MVI", _ make: () -> Root) throws(SettingError) -> Root {
        let reader = SettingsReader(prefix: prefix, source: self)
        let root = SettingsReader.$current.withValue(reader, operation: make)
        if let error = reader.error { throw error }
        return root
    }

    /// The text of a setting, or of the file that its other form names; nil if neither is given.
    package func text(of setting: SettingDeclaration) throws(SettingError) -> String? {
        let text = given(setting)
        guard let form = setting.fileForm, let path = given(form) else { return text }
        guard text == nil else {
            throw SettingError(
                name: form.name, given: path,
                expected: "nothing, since --\(setting.name) is there: give one of the two", prefix: form.prefix)
        }
        do throws(SettingFile.Unreadable) { return try SettingFile.text(path) } catch {
            throw SettingError(
                name: form.name, given: path,
                expected: "a file with the value of --\(setting.name), but \(error.reason)", prefix: form.prefix)
        }
    }

    /// The names of settings whose value has a secret and was given in a flag, which other users of the machine see.
    package func secretsInFlags(_ catalogue: [SettingDeclaration]) -> [String] {
        catalogue.filter { setting in flags[setting.name].map { setting.holdsSecret?($0) ?? false } ?? false }.map(
            \.name)
    }

    /// The text of a setting. An empty variable is one that was taken back, as in `MVI_PORT= mvi-server`; an empty flag is a
    /// mistake.
    private func given(_ setting: SettingDeclaration) -> String? {
        text(setting.name, variable: setting.environmentName).flatMap {
            $0.isEmpty && flags[setting.name] == nil ? nil : $0
        }
    }
}
