import ArgumentParser
import CoreMetrics
import Logging
import MVI
import PrometheusMetrics

/// A command as it is parsed and run: serves, unless one of its subcommands is meant.
package struct ServerProgram<Command: FeatureServerCommand>: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Command.name, abstract: Command.summary,
            discussion: """
                Every flag can also be given as the environment variable in brackets, or in a JSON file (--config). A flag \
                beats a variable, a variable the file. Times are written 500ms, 20s, 5m or 24h, bytes 65536, 64KiB or \
                1MiB.\(OwnFlags.help(Command.settings))
                """,
            version: Command.version,
            subcommands: [
                HealthCommand<Command>.self,
                BackupCommand<Command>.self,
                RestoreCommand<Command>.self,
                ImportCommand<Command>.self,
                SignOutCommand<Command>.self,
                RotateKeyCommand<Command>.self,
                MigrateCommand<Command>.self,
                SessionsCommand<Command>.self,
                ExportCommand<Command>.self,
                SchemaCommand<Command>.self,
                TypesCommand<Command>.self,
            ] + Command.subcommands)
    }

    @OptionGroup package var flags: ServerFlags

    package init() {}

    package func run() async throws {
        let (settings, command) = try await settings()
        LoggingSystem.bootstrap { settings.logFormat.handler(label: $0) }
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        var logger = Logger(label: Command.name)
        logger.logLevel = settings.logLevel
        let source = try await source()
        for name in source.secretsInFlags(ServerSettings.catalogue) + source.secretsInFlags(Command.settings) {
            logger.warning(
                "A secret was given in a flag, which other users of this machine see: give it in a file, with the flag that is named here, or by its variable",
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

    /// The server's settings, and the command with its own.
    ///
    /// - Throws: `ValidationError` with the sentence of a setting that is not right.
    package func settings() async throws -> (server: ServerSettings, command: Command) {
        do {
            let source = try await source()
            var (server, command) = (ServerSettings(), Command())
            try source.apply(ServerSettings.catalogue, to: &server)
            try source.apply(Command.settings, to: &command)
            return (server, command)
        } catch let error as SettingError {
            throw ValidationError("\(error)")
        }
    }

    /// Where all settings come from.
    package func source() async throws -> SettingsSource {
        let names = ServerSettings.names
        let own = Command.settings.withFileForms().map(\.name)
        for (index, name) in own.enumerated() where (names + ["config"] + own[..<index]).contains(name) {
            throw ValidationError(
                "\(Command.self) has a setting called '\(name)', which the server or another setting is called already: "
                    + "give it another name.")
        }
        return try await SettingsSource(flags: flags.given.merging(OwnFlags.given) { $1 }, known: names + own)
    }

    /// What is served, without a server that runs.
    func types() async throws -> FeatureTypes {
        let (given, command) = try await settings()
        var settings = given
        (settings.data, settings.journal) = (":memory:", .memory)
        let silent = Logger(label: Command.name) { _ in SwiftLogNoOpLogHandler() }
        return try await command.server(ServerStart(settings: settings, logger: silent, isServing: false)).types()
    }
}
