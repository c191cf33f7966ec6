import ArgumentParser
import CoreMetrics
import Logging
import MVI
import PrometheusMetrics
import Sessions

/// The parsed command: serves, or runs a subcommand.
package struct ServerProgram<Command: FeatureServerCommand>: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Command.name, abstract: Command.summary,
            discussion: """
                Every flag can also be set by the environment variable in brackets or in a JSON file (--config). Flags \
                override variables, and variables override the file. Times are written as 500ms, 20s, 5m or 24h, bytes \
                as 65536, 64KiB or 1MiB.
                """,
            version: Command.version,
            subcommands: [
                HealthCommand<Command>.self,
                BackupCommand<Command>.self,
                RestoreCommand<Command>.self,
                ImportCommand<Command>.self,
                SignOutCommand<Command>.self,
                ForgetCommand<Command>.self,
                RotateKeyCommand<Command>.self,
                MigrateCommand<Command>.self,
                SessionsCommand<Command>.self,
                ExportCommand<Command>.self,
                ReplayCommand<Command>.self,
                SchemaCommand<Command>.self,
                TypesCommand<Command>.self,
            ] + Command.subcommands + tools)
    }

    /// The commands of `mvi-tools` whose names the program does not use itself.
    private static var tools: [any ParsableCommand.Type] {
        [TopTool<Command>.self, DoctorTool<Command>.self].filter { tool in
            !Command.subcommands.contains { $0._commandName == tool._commandName }
        }
    }

    @OptionGroup package var flags: ServerFlags
    @OptionGroup(title: "Own settings") package var ownFlags: SettingFlags<OwnSettings<Command>>

    package init() {}

    package func run() async throws {
        let (settings, command) = try settings()
        LoggingSystem.bootstrap { settings.logFormat.handler(label: $0) }
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        var logger = Logger(label: Command.name)
        logger.logLevel = settings.logLevel
        let source = try source()
        let catalogue = ServerSettings.catalogue + OwnSettings<Command>.all
        let variables = EnvironmentCheck(nil, catalogue)
        variables.warnOfServiceLinks(logger)
        variables.warnOfUnknown(logger)
        for name in source.secretsInFlags(catalogue) {
            logger.warning(
                "A secret was given in a flag, which other users of this machine see. Give it in a file, with the named flag, or by its variable",
                metadata: ["flag": "--\(name)", "instead": "--\(name)-file"])
        }
        do {
            var server = try await command.server(ServerStart(settings: settings, logger: logger, isServing: true))
            guard !server.content.isEmpty else {
                throw CommandFailure(
                    "\(Command.self) has nothing to serve: give it features, in `content` or `server(_:)`")
            }
            try await server.complete(settings, logger, registry, command.sharedStorage)
            try await server.run()
        } catch let error as SettingError {
            throw ValidationError("\(error)")
        } catch {
            StandardError.say("cannot serve: \(error)", by: Command.name)
            throw ExitCode(1)
        }
    }

    /// Returns the server's settings, and the command with its own settings.
    ///
    /// - Throws: `ValidationError` with the text of an invalid setting.
    package func settings() throws -> (server: ServerSettings, command: Command) {
        do {
            let source = try source()
            return (
                try source.read(ServerSettings.init),
                try source.read(prefix: Command.environmentPrefix, Command.init)
            )
        } catch let error as SettingError {
            throw ValidationError("\(error)")
        }
    }

    /// The source of all settings.
    package func source() throws -> SettingsSource {
        let names = ServerSettings.names
        let own = OwnSettings<Command>.all.withFileForms.map(\.name)
        for (index, name) in own.enumerated() where (names + ["config"] + own[..<index]).contains(name) {
            throw ValidationError(
                "\(Command.self) has a setting named '\(name)', but the server or another setting has this name: "
                    + "rename it.")
        }
        return try SettingsSource(flags: flags.given.merging(ownFlags.given) { $1 }, known: names + own)
    }

    /// Returns the types of the features without running a server.
    func types() async throws -> FeatureTypes { try await unserved().types() }

    /// Returns the server, which cannot run, for what its features say of themselves.
    func unserved() async throws -> FeatureServer {
        let (given, command) = try settings()
        var settings = given
        (settings.data, settings.journal) = (":memory:", .memory)
        let silent = Logger(label: Command.name) { _ in SwiftLogNoOpLogHandler() }
        return try await command.server(ServerStart(settings: settings, logger: silent, isServing: false))
    }

    /// Returns the definitions of the program's features, without a server and without examples.
    func registry() async throws -> FeatureRegistry {
        let silent = Logger(label: Command.name) { _ in SwiftLogNoOpLogHandler() }
        return try FeatureRegistry(
            try await unserved().content.features.map { try $0.definition(makesExamples: false, silent) })
    }
}
