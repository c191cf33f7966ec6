/// A value that cannot be used.
public struct SettingError: Error, CustomStringConvertible, Sendable, Equatable {
    /// The setting's name: its flag without dashes.
    public let name: String
    /// The given value.
    public let given: String
    /// The expected value.
    public let expected: String
    /// The prefix of the variable's name.
    public let prefix: String

    /// An error about a setting.
    ///
    /// - Parameters:
    ///   - name: the setting's name: its flag without dashes.
    ///   - given: what was given; empty where it is missing.
    ///   - expected: what would have been taken, as the end of "expected …".
    ///   - prefix: what the variable's name begins with: `FeatureServerCommand.environmentPrefix` for a setting of a
    ///     command's own.
    public init(name: String, given: String, expected: String, prefix: String = "MVI") {
        self.name = name
        self.given = given
        self.expected = expected
        self.prefix = prefix
    }

    /// The given and the expected value, and the places in which it can be set.
    public var description: String {
        let fault = given.isEmpty ? "--\(name) is missing" : "--\(name) cannot be '\(given)'"
        let variable = Self.variable(name, prefix: prefix)
        // A configuration file cannot name another one.
        let places =
            name == "config"
            ? "--\(name) or \(variable)" : "--\(name), \(variable) or \"\(name)\" in the configuration file"
        return "\(fault): expected \(expected). (Set by \(places).)"
    }

    static func variable(_ name: String, prefix: String) -> String {
        "\(prefix)_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })
    }

    /// A text for a message: of a URL with a user or a query only what comes before them.
    static func withoutPassword(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), text[colon...].contains(where: { $0 == "@" || $0 == "?" }) else {
            return text
        }
        return "\(text[..<colon]):…"
    }
}
