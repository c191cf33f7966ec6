/// One thing that can be set, as it is declared: by flag, environment variable or configuration file, always as text
/// and always the same one.
///
/// ```swift
/// static let settings = [
///     Setting("reservation", \.reservation, .time(.seconds(1) ... .seconds(3_600)), "How long an order waits.")
/// ]
/// ```
public struct Setting<Root>: Sendable {
    /// The flag without its dashes, which is also the key in a configuration file.
    public let name: String
    /// The environment variable.
    public let environmentName: String
    /// What the value is called in `--help`.
    package let valueName: String
    package let summary: String
    /// The default as it would be given; empty for none.
    package let defaultText: String
    /// Whether the flag stands alone and means `true`.
    package let isSwitch: Bool
    /// Whether a text has a secret in it; nil if none has.
    package let holdsSecret: (@Sendable (_ text: String) -> Bool)?
    /// What the variable's name begins with.
    let prefix: String
    /// Sets the value that the text says.
    package let apply: @Sendable (_ text: String, _ root: inout Root) throws(SettingError) -> Void

    /// - Parameter prefix: what the variable's name begins with.
    package init<Value>(
        _ name: String, prefix: String = "MVI", _ valueName: String, _ summary: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable, _ format: SettingFormat<Value>, defaults: Root
    ) {
        self.name = name
        environmentName = SettingError.variable(name, prefix: prefix)
        self.valueName = valueName
        self.summary = summary
        defaultText = format.isSecret ? "" : format.print(defaults[keyPath: path])
        isSwitch = Value.self == Bool.self
        (holdsSecret, self.prefix) = (format.holdsSecret, prefix)
        apply = { text, root throws(SettingError) in
            guard let value = format.parse(text) else {
                let given = format.isSecret ? "a text of \(text.utf8.count) bytes" : Self.withoutPassword(text)
                throw SettingError(name: name, given: given, expected: format.expected, prefix: prefix)
            }
            root[keyPath: path] = value
        }
    }

    private init<Inner>(_ inner: Setting<Inner>, _ path: any WritableKeyPath<Root, Inner> & Sendable) {
        (name, environmentName, valueName) = (inner.name, inner.environmentName, inner.valueName)
        (summary, defaultText, isSwitch) = (inner.summary, inner.defaultText, inner.isSwitch)
        (holdsSecret, prefix) = (inner.holdsSecret, inner.prefix)
        apply = { text, root throws(SettingError) in try inner.apply(text, &root[keyPath: path]) }
    }

    /// The setting that names a file with the value of another one.
    private init(fileOf setting: Setting<Root>) {
        let (name, prefix) = ("\(setting.name)-file", setting.prefix)
        (self.name, self.prefix, environmentName) = (name, prefix, SettingError.variable(name, prefix: prefix))
        (valueName, summary) = ("file", "File with the value of --\(setting.name).")
        (defaultText, isSwitch, holdsSecret) = ("", false, nil)
        apply = { path, root throws(SettingError) in try setting.apply(try setting.text(inFile: path), &root) }
    }

    /// The setting that names a file with this one's value; nil unless that may be a secret.
    package var fileForm: Setting? { holdsSecret == nil ? nil : Setting(fileOf: self) }

    /// The value that a file holds.
    func text(inFile path: String) throws(SettingError) -> String {
        do throws(SettingFile.Unreadable) { return try SettingFile.text(path) } catch {
            throw SettingError(
                name: "\(name)-file", given: path, expected: "a file with the value of --\(name), but \(error.reason)",
                prefix: prefix)
        }
    }

    /// The same setting where its root is a member of something larger.
    public func at<Outer>(_ path: any WritableKeyPath<Outer, Root> & Sendable) -> Setting<Outer> {
        Setting<Outer>(self, path)
    }

    /// As `--help` shows it: what it is for, its variable, its default.
    var help: String {
        let standard = defaultText.isEmpty ? "" : "; default: \(defaultText)"
        return "\(summary) [\(environmentName)\(standard)]"
    }
}

extension Setting where Root: FeatureServerCommand {
    /// A setting of a command's own: the flag `--name`, the variable of the command's prefix and the name in capitals, and
    /// the member `name` of the configuration file.
    ///
    /// - Parameters:
    ///   - name: small letters, digits and hyphens; none of the server's own.
    ///   - path: the variable that it sets; what it is at first is the default.
    ///   - format: what is taken.
    ///   - summary: a sentence for `--help`.
    ///   - valueName: what the value is called in `--help`.
    public init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ format: SettingFormat<Value>,
        _ summary: String, valueName: String = "value"
    ) {
        self.init(
            name, prefix: Root.environmentPrefix, valueName, summary, path, format, defaults: Root())
    }
}

extension Array {
    /// The same settings, and after each that may be a secret the one that names a file with it.
    package func withFileForms<Root>() -> [Setting<Root>] where Element == Setting<Root> {
        flatMap { [$0] + ($0.fileForm.map { [$0] } ?? []) }
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
    /// What the variable's name begins with.
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

    /// What was given, what is expected, and where it can be set.
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
}
