/// A value with a default that a flag, an environment variable or the configuration file can replace, always as the same
/// text.
///
/// ```swift
/// struct Shop: FeatureServerCommand {
///     @Setting("reservation", .time(.seconds(1) ... .seconds(3_600)), "How long an order waits.")
///     var reservation: Duration = .seconds(600)
/// }
/// ```
///
/// The declaration is all that a setting needs: the flag `--reservation`, the variable `SHOP_RESERVATION`, the member
/// `reservation` of the configuration file and the lines of `--help` follow from it. Outside of a command that starts, the
/// value is the default.
@propertyWrapper
public struct Setting<Value: Sendable>: Sendable {
    /// The value.
    public var wrappedValue: Value

    /// A setting.
    ///
    /// - Parameters:
    ///   - wrappedValue: the default.
    ///   - name: small letters, digits and hyphens; none of the server's own.
    ///   - format: what is taken.
    ///   - summary: a sentence for `--help`.
    ///   - valueName: what the value is called in `--help`; by default the format's own name.
    public init(
        wrappedValue: Value, _ name: String, _ format: SettingFormat<Value>, _ summary: String, valueName: String? = nil
    ) {
        self.init(wrappedValue: wrappedValue, name, format, summary, valueName: valueName, prefix: nil)
    }

    /// A setting that may be missing.
    ///
    /// - Parameters:
    ///   - wrappedValue: the default.
    ///   - name: small letters, digits and hyphens; none of the server's own.
    ///   - format: what is taken.
    ///   - summary: a sentence for `--help`.
    ///   - valueName: what the value is called in `--help`; by default the format's own name.
    public init<Wrapped>(
        wrappedValue: Wrapped? = nil, _ name: String, _ format: SettingFormat<Wrapped>, _ summary: String,
        valueName: String? = nil
    ) where Value == Wrapped? {
        self.init(wrappedValue: wrappedValue, name, format.orNone, summary, valueName: valueName, prefix: nil)
    }

    /// - Parameters:
    ///   - prefix: what the variable's name begins with; nil for that of what is read.
    ///   - heading: that in `--help` under which this setting and the ones behind it are.
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
        if let given = reader.value(of: declaration, format) { self.wrappedValue = given }
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
    case callers = "Who may call"
    case keeping = "What is kept"
    case limits = "Limits"
    case times = "Times"
    case running = "Running"
}
