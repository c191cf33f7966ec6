import ArgumentParser

/// The flags of a section of settings. They are parsed as texts, so that flags, variables and members of a file are
/// checked alike.
package struct SettingFlags<Section: FlagSection>: ParsableArguments, CustomReflectable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The given texts, by name.
    package var given: [String: String] = [:]

    package init() {}

    package init(from decoder: any Decoder) throws {
        let flags = try decoder.container(keyedBy: Key.self)
        for setting in Section.settings {
            let key = Key(stringValue: setting.name)
            given[setting.name] =
                setting.isSwitch
                ? try flags.decode(Flag<Bool>.self, forKey: key).wrappedValue ? "true" : nil
                : try flags.decode(Option<String?>.self, forKey: key).wrappedValue
        }
    }

    /// A flag for each setting: the parser finds flags by reflection, like stored properties.
    package var customMirror: Mirror {
        Mirror(
            self,
            children: Section.settings.map { setting in
                let help = ArgumentHelp("\(setting.help)", valueName: setting.valueName)
                let name = NameSpecification.customLong(setting.name)
                return setting.isSwitch
                    ? (setting.name, Flag(wrappedValue: false, name: name, help: help))
                    : (setting.name, Option<String?>(name: name, help: help))
            })
    }
}

/// Settings that are listed together in `--help`.
package protocol FlagSection: Sendable {
    static var settings: [SettingDeclaration] { get }
}

/// A section of the server's settings under one heading.
protocol ServerFlagSection: FlagSection {
    static var heading: SettingHeading { get }
}

extension ServerFlagSection {
    package static var settings: [SettingDeclaration] {
        let settings = ServerSettings.catalogue.drop { $0.heading != heading }
        let end = settings.dropFirst().firstIndex { $0.heading != nil } ?? settings.endIndex
        return Array(settings[..<end]).withFileForms + (heading == .running ? [SettingsSource.configuration] : [])
    }
}

/// The flags of a server, by heading.
package struct ServerFlags: ParsableArguments {
    enum Listening: ServerFlagSection { static let heading = SettingHeading.listening }
    enum Callers: ServerFlagSection { static let heading = SettingHeading.callers }
    enum Keeping: ServerFlagSection { static let heading = SettingHeading.keeping }
    enum Limits: ServerFlagSection { static let heading = SettingHeading.limits }
    enum Times: ServerFlagSection { static let heading = SettingHeading.times }
    enum Running: ServerFlagSection { static let heading = SettingHeading.running }

    @OptionGroup(title: Listening.heading.rawValue) var listening: SettingFlags<Listening>
    @OptionGroup(title: Callers.heading.rawValue) var callers: SettingFlags<Callers>
    @OptionGroup(title: Keeping.heading.rawValue) var keeping: SettingFlags<Keeping>
    @OptionGroup(title: Limits.heading.rawValue) var limits: SettingFlags<Limits>
    @OptionGroup(title: Times.heading.rawValue) var times: SettingFlags<Times>
    @OptionGroup(title: Running.heading.rawValue) var running: SettingFlags<Running>

    package init() {}

    /// The given texts, by name.
    package var given: [String: String] {
        [listening.given, callers.given, keeping.given, limits.given, times.given, running.given]
            .reduce(into: [:]) { $0.merge($1) { $1 } }
    }
}

/// A command's own settings, without those whose names are not allowed: `ServerProgram.source` refuses them.
package enum OwnSettings<Command: FeatureServerCommand>: FlagSection {
    static var all: [SettingDeclaration] { [SettingDeclaration](prefix: Command.environmentPrefix, of: Command.init) }

    package static var settings: [SettingDeclaration] {
        all.withFileForms.reduce(into: []) { settings, setting in
            let names = ServerSettings.names + [SettingsSource.configuration.name] + settings.map(\.name)
            if !names.contains(setting.name) { settings.append(setting) }
        }
    }
}
