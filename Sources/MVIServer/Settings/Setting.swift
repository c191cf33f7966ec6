/// A value with a default that a flag, an environment variable or the configuration file can replace. All three use the
/// same text.
///
/// ```swift
/// struct Shop: FeatureServerCommand {
///     @Setting("reservation", .time(.seconds(1) ... .seconds(3_600)), "The time to pay an order.")
///     var reservation: Duration = .seconds(600)
/// }
/// ```
///
/// The declaration defines the flag `--reservation`, the variable `SHOP_RESERVATION`, the member `reservation` of the
/// configuration file and the lines of `--help`. Outside of a command that starts, the value is the default.
@propertyWrapper
public struct Setting<Value: Sendable>: Sendable {
    /// The value.
    public var wrappedValue: Value { didSet { file = nil } }

    /// The file that the value was read from; nil if it was given itself, or replaced.
    private(set) var file: String?

    /// Creates a setting.
    ///
    /// - Parameters:
    ///   - wrappedValue: the default.
    ///   - name: lowercase letters, digits and hyphens. The server's own names are not allowed.
    ///   - format: the format of valid values.
    ///   - summary: a sentence for `--help`.
    ///   - valueName: the name of the value in `--help`; by default that of the format.
    public init(
        wrappedValue: Value, _ name: String, _ format: SettingFormat<Value>, _ summary: String, valueName: String? = nil
    ) {
        self.init(wrappedValue: wrappedValue, name, format, summary, valueName: valueName, prefix: nil)
    }

    /// Creates an optional setting.
    ///
    /// - Parameters:
    ///   - wrappedValue: the default.
    ///   - name: lowercase letters, digits and hyphens. The server's own names are not allowed.
    ///   - format: the format of valid values.
    ///   - summary: a sentence for `--help`.
    ///   - valueName: the name of the value in `--help`; by default that of the format.
    public init<Wrapped>(
        wrappedValue: Wrapped? = nil, _ name: String, _ format: SettingFormat<Wrapped>, _ summary: String,
        valueName: String? = nil
    ) where Value == Wrapped? {
        self.init(wrappedValue: wrappedValue, name, format.orNone, summary, valueName: valueName, prefix: nil)
    }

    /// - Parameters:
    ///   - prefix: the prefix of the variable's name; nil for the command's prefix.
    ///   - heading: the heading in `--help` of this setting and the following ones.
    package init(
        wrappedValue: Value, _ name: String, _ format: SettingFormat<Value>, _ summary: String,
        valueName: String? = nil, prefix: String? = nil, heading: SettingHeading? = nil
    ) {
        self.wrappedValue = wrappedValue
        guard let reader = SettingsReader.current else { return }
        let declaration = SettingDeclaration(
            name: name, prefix: prefix ?? reader.prefix, valueName: valueName ?? format.valueName, summary: summary,
            defaultText: format.isSecret ? "" : format.print(wrappedValue), isSwitch: Value.self == Bool.self,
            holdsSecret: format.holdsSecret, heading: heading)
        guard let given = reader.value(of: declaration, format) else { return }
        (self.wrappedValue, file) = (given, reader.file(of: declaration))
    }

    package init<Wrapped>(
        wrappedValue: Wrapped? = nil, _ name: String, _ format: SettingFormat<Wrapped>, _ summary: String,
        valueName: String? = nil, prefix: String? = nil, heading: SettingHeading? = nil
    ) where Value == Wrapped? {
        self.init(
            wrappedValue: wrappedValue, name, format.orNone, summary, valueName: valueName, prefix: prefix,
            heading: heading)
    }
}

extension Setting: Equatable where Value: Equatable {}

/// A heading of the server's settings in `--help`.
package enum SettingHeading: String, Sendable {
    case listening = "Listening"
    case callers = "Access"
    case keeping = "Storage"
    case limits = "Limits"
    case times = "Times"
    case running = "Running"
}
