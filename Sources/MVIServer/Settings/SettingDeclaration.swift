/// A ``Setting`` without its value, for flags, help, documentation and the configuration file.
package struct SettingDeclaration: Sendable {
    /// The flag without its dashes, also the key in a configuration file.
    package let name: String
    /// The prefix of the variable's name.
    let prefix: String
    /// The name of the value in `--help`.
    let valueName: String
    package let summary: String
    /// The default as text; empty for none.
    package var defaultText = ""
    /// True if the flag has no value and means `true`.
    package var isSwitch = false
    /// Returns true if a text contains a secret; nil if no text does.
    var holdsSecret: (@Sendable (_ text: String) -> Bool)?
    var heading: SettingHeading?

    /// The environment variable.
    package var environmentName: String { SettingError.variable(name, prefix: prefix) }

    /// The setting for a file with this one's value; nil if the value cannot be a secret.
    package var fileForm: SettingDeclaration? {
        holdsSecret == nil
            ? nil
            : SettingDeclaration(
                name: "\(name)-file", prefix: prefix, valueName: "file", summary: "File with the value of --\(name).")
    }

    /// The text of `--help`: summary, variable and default.
    var help: String {
        "\(summary) [\(environmentName)\(defaultText.isEmpty ? "" : "; default: \(defaultText)")]"
    }
}

extension [SettingDeclaration] {
    /// The settings, each that may be a secret followed by the setting for a file with its value.
    package var withFileForms: [SettingDeclaration] { flatMap { [$0] + ($0.fileForm.map { [$0] } ?? []) } }
}
