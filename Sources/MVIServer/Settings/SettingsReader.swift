import Locking

/// Collects the declaration of each ``Setting`` that is created meanwhile, and sets its value from a source.
final class SettingsReader: Sendable {
    @TaskLocal static var current: SettingsReader?

    let prefix: String
    private let source: SettingsSource?
    private let state = Lock<(declared: [SettingDeclaration], error: SettingError?)>(([], nil))

    /// - Parameter source: nil to collect declarations only.
    init(prefix: String, source: SettingsSource?) { (self.prefix, self.source) = (prefix, source) }

    var declared: [SettingDeclaration] { state.withLock { $0.declared } }
    /// The first error of a value.
    var error: SettingError? { state.withLock { $0.error } }

    func value<Value>(of setting: SettingDeclaration, _ format: SettingFormat<Value>) -> Value? {
        state.withLock { $0.declared.append(setting) }
        do throws(SettingError) {
            guard let text = try source?.text(of: setting) else { return nil }
            return try format.value(text, of: setting)
        } catch {
            state.withLock { $0.error = $0.error ?? error }
            return nil
        }
    }
}

extension SettingsReader {
    /// The file that a setting's value was read from; nil if it was given itself.
    func file(of setting: SettingDeclaration) -> String? { source?.file(of: setting) }
}

extension [SettingDeclaration] {
    /// The settings that a value declares while it is created.
    ///
    /// - Parameter prefix: the prefix of the variables' names.
    package init<Root>(prefix: String = "MVI", of make: () -> Root) {
        let reader = SettingsReader(prefix: prefix, source: nil)
        _ = SettingsReader.$current.withValue(reader, operation: make)
        self = reader.declared
    }
}
