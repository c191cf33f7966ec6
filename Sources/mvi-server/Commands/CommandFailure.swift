import ArgumentParser
import MVIServer

/// Why a command was not carried out: what happened, and what to do.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ServerCommand {
    /// The folder of `--data`, `MVI_DATA` or the configuration file, which must be there: a command makes none.
    func existingDataFolder() async throws -> String {
        let settings: ServerSettings
        do {
            settings = try await self.settings().server
        } catch let error as SettingError {
            throw ValidationError("\(error)")
        }
        guard let folder = settings.dataFolder else {
            throw CommandFailure("With --data :memory: nothing is kept. Give the folder that the server was given.")
        }
        guard FilePath.isFolder(folder) else {
            throw CommandFailure(
                "There is no data folder '\(folder)'. Give the one that the server was given, with --data or MVI_DATA.")
        }
        return folder
    }
}

extension AsyncParsableCommand {
    /// Carries a command out; says on standard error why it was not, and ends with the exit code 1 then.
    func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as CommandFailure {
            StandardError.say(failure.description)
            throw ExitCode(1)
        }
    }
}
