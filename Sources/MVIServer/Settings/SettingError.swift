/// An error about an invalid value of a setting.
public struct SettingError: Error, CustomStringConvertible, Sendable, Equatable {
    /// The setting's name: its flag without dashes.
    public let name: String
    /// The given value.
    public let given: String
    /// The expected values.
    public let expected: String
    /// The prefix of the variable's name.
    public let prefix: String

    /// Creates an error about a setting.
    ///
    /// - Parameters:
    ///   - name: the setting's name: its flag without dashes.
    ///   - given: the given value; empty if it is missing.
    ///   - expected: the expected values, as the end of "expected …".
    ///   - prefix: the prefix of the variable's name: `FeatureServerCommand.environmentPrefix` for a command's own
    ///     setting.
    public init(name: String, given: String, expected: String, prefix: String = "MVI") {
        self.name = name
        self.given = given
        self.expected = expected
        self.prefix = prefix
    }

    /// The given value, the expected values, and the places to set it, in one line.
    public var description: String {
        let fault = given.isEmpty ? "--\(name) is missing" : "--\(name) cannot be '\(given)'"
        let variable = Self.variable(name, prefix: prefix)
        // A configuration file cannot name another one.
        let places =
            name == "config"
            ? "--\(name) or \(variable)" : "--\(name), \(variable) or \"\(name)\" in the configuration file"
        return "\(fault): expected \(expected). (Set by \(places).)".withoutInvisibles
    }

    static func variable(_ name: String, prefix: String) -> String {
        "\(prefix)_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })
    }

    /// Returns a text for messages: the part of a URL before its user or query.
    static func withoutPassword(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), text[colon...].contains(where: { $0 == "@" || $0 == "?" }) else {
            return text
        }
        return "\(text[..<colon]):…"
    }
}
