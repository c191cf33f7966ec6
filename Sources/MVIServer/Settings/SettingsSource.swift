#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The source of settings: flags before environment variables before the configuration file.
package struct SettingsSource: Sendable {
    private let flags: [String: String]
    private let environment: [String: String]?
    private var file: [String: String] = [:]

    /// The configuration file's setting, which the file itself cannot have.
    package static let configuration = SettingDeclaration(
        name: "config", prefix: "MVI", valueName: "file",
        summary: "JSON file with one object whose members are named like the flags.")

    /// - Parameters:
    ///   - flags: the given flags, by name without dashes.
    ///   - environment: the environment variables; nil for the process's own.
    ///   - known: the valid names. The flag `config`, or else `MVI_CONFIG`, may name a JSON file with members of these
    ///     names.
    /// - Throws: `SettingError` if the file cannot be read or has an unknown name.
    package init(
        flags: [String: String], environment: [String: String]? = nil, known: [String]
    ) throws(SettingError) {
        (self.flags, self.environment) = (flags, environment)
        guard let path = given(Self.configuration) else { return }
        file = try ConfigurationFile.texts(path, known: Set(known))
    }

    /// The text of a setting. A file may write numbers, booleans and lists of texts as such. An empty variable counts as
    /// unset, as in `MVI_PORT= mvi-server`, and so does one of Kubernetes.
    package func text(_ name: String, variable: String) -> String? {
        if let flag = flags[name] { return flag }
        if let text = environment.map({ $0[variable] }) ?? Self.variable(variable), !text.isEmpty,
            !EnvironmentCheck.isServiceLink(variable, text)
        {
            return text
        }
        return file[name]
    }

    /// A variable of the process.
    package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Returns a value whose settings are read from this source and checked.
    ///
    /// - Parameter prefix: the prefix of the variables' names.
    package func read<Root>(prefix: String = "MVI", _ make: () -> Root) throws(SettingError) -> Root {
        let reader = SettingsReader(prefix: prefix, source: self)
        let root = SettingsReader.$current.withValue(reader, operation: make)
        if let error = reader.error { throw error }
        return root
    }

    /// The text of a setting, or of the file that its file form names; nil if neither is given.
    package func text(of setting: SettingDeclaration) throws(SettingError) -> String? {
        let text = given(setting)
        guard let form = setting.fileForm, let path = file(of: setting) else { return text }
        guard text == nil else {
            throw SettingError(
                name: form.name, given: path,
                expected: "nothing, since --\(setting.name) is given: use one of the two", prefix: form.prefix)
        }
        return try Self.text(inFile: path, of: setting.name, prefix: form.prefix)
    }

    /// The text in the file with a setting's value.
    static func text(inFile path: String, of name: String, prefix: String = "MVI") throws(SettingError) -> String {
        do throws(SettingFile.Unreadable) { return try SettingFile.text(path) } catch {
            throw SettingError(
                name: "\(name)-file", given: path, expected: "a file with the value of --\(name), but \(error.reason)",
                prefix: prefix)
        }
    }

    /// The file that has a setting's value; nil for none.
    func file(of setting: SettingDeclaration) -> String? { setting.fileForm.flatMap(given) }

    /// The names of settings with a secret in a flag, which other users of the machine see.
    package func secretsInFlags(_ catalogue: [SettingDeclaration]) -> [String] {
        catalogue.filter { setting in flags[setting.name].map { setting.holdsSecret?($0) ?? false } ?? false }.map(
            \.name)
    }

    /// The text of a setting. An empty member of the file counts as unset; an empty flag is an error.
    private func given(_ setting: SettingDeclaration) -> String? {
        text(setting.name, variable: setting.environmentName).flatMap {
            $0.isEmpty && flags[setting.name] == nil ? nil : $0
        }
    }
}
