/// A ``Setting`` without its value: all that flags, help, documentation and the configuration file need to know.
package struct SettingDeclaration: Sendable {
    /// The flag without its dashes, which is also the key in a configuration file.
    package let name: String
    /// The prefix of the variable's name.
    let prefix: String
    /// The placeholder of the value in `--help`.
    let valueName: String
    package let summary: String
    /// The default as it would be given; empty for none.
    package var defaultText = ""
    /// True if the flag stands alone and means `true`.
    package var isSwitch = false
    /// True if a text has a secret in it; nil if none has.
    var holdsSecret: (@Sendable (_ text: String) -> Bool)?
    var heading: SettingHeading?

    /// The environment variable.
    package var environmentName: String { SettingError.variable(name, prefix: prefix) }

    /// The setting that names a file with this one's value; nil unless that may be a secret.
    package var fileForm: SettingDeclaration? {
        holdsSecret == nil
            ? nil
            : SettingDeclaration(
                name: "\(name)-file", prefix: prefix, valueName: "file", summary: "File with the value of --\(name).")
    }

    /// As `--help` shows it: what it is for, its variable, its default.
    var help: String {
        "\(summary) [\(environmentName)\(defaultText.isEmpty ? "" : "; default: \(defaultText)")]"
    }
}

extension [SettingDeclaration] {
    /// The same settings, and after each that may be a secret the one that names a file with it.
    package var withFileForms: [SettingDeclaration] { flatMap { [$0] + ($0.fileForm.map { [$0] } ?? []) } }
}
