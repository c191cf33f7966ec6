/// One thing that can be set, as it is declared: by flag, environment variable or configuration file, always as text
/// and always the same one.
package struct Setting<Root>: Sendable {
    /// A heading in `--help`.
    package enum Group: String, Sendable, CaseIterable {
        case listening = "Listening"
        case callers = "Who may call"
        case keeping = "What is kept"
        case limits = "Limits"
        case times = "Times"
        case running = "Running"
        case demo = "Demo features"
    }

    /// The flag without its dashes, which is also the key in a configuration file.
    package let name: String
    package let group: Group
    /// What the value is called in `--help`.
    package let valueName: String
    package let summary: String
    /// The default as it would be given; empty for none.
    package let defaultText: String
    /// Sets the value that the text says.
    package let apply: @Sendable (_ text: String, _ root: inout Root) throws(SettingError) -> Void

    /// `MVI_` and the name in capitals.
    package var environmentName: String {
        "MVI_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    package init<Value>(
        _ name: String, _ group: Group, _ valueName: String, _ summary: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable, _ format: SettingFormat<Value>, defaults: Root
    ) {
        self.name = name
        self.group = group
        self.valueName = valueName
        self.summary = summary
        defaultText = format.print(defaults[keyPath: path])
        apply = { text, root throws(SettingError) in
            guard let value = format.parse(text) else {
                let given = format.isSecret ? "a text of \(text.utf8.count) bytes" : Self.withoutPassword(text)
                throw SettingError(name: name, given: given, expected: format.expected)
            }
            root[keyPath: path] = value
        }
    }
}

extension Setting {
    /// A text for a message: of a URL with a user or a query only what comes before them.
    private static func withoutPassword(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), text[colon...].contains(where: { $0 == "@" || $0 == "?" }) else {
            return text
        }
        return "\(text[..<colon]):…"
    }
}

/// A value that cannot be used.
public struct SettingError: Error, CustomStringConvertible, Sendable, Equatable {
    /// The setting's name: its flag without dashes.
    public let name: String
    /// What was given.
    public let given: String
    /// What would have been taken.
    public let expected: String

    /// An error about a setting.
    public init(name: String, given: String, expected: String) {
        self.name = name
        self.given = given
        self.expected = expected
    }

    /// What was given, what is expected, and where it can be set.
    public var description: String {
        let variable = "MVI_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
        return "--\(name) cannot be '\(given)': expected \(expected). (Set by --\(name), \(variable) or \"\(name)\" in "
            + "the configuration file.)"
    }
}
