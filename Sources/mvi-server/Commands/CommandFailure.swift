import ArgumentParser
import MVIServer
import PostgresJournal

/// Why a command was not carried out: what happened, and what to do.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ServerCommand {
    /// The folder of `--data`, `MVI_DATA` or the configuration file, which must be there: a command makes none.
    func existingDataFolder() async throws -> String {
        let folder = try await dataFolder()
        guard FilePath.isFolder(folder) else {
            throw CommandFailure(
                "There is no data folder '\(folder)'. Give the one that the server was given, with --data or MVI_DATA.")
        }
        return folder
    }

    /// The database that the settings name as the journal; nil if they name another kind.
    func sharedDatabase() async throws -> PostgresJournalDatabase? {
        let settings = try await serverSettings()
        guard case .postgres(let url) = settings.journal else { return nil }
        guard let database = PostgresJournalDatabase(database: url, schema: settings.journalSchema) else {
            throw CommandFailure("--journal is no URL that libpq takes, such as postgres://user@host:5432/name.")
        }
        return database
    }

    private func serverSettings() async throws -> ServerSettings {
        do {
            return try await self.settings().server
        } catch let error as SettingError {
            throw ValidationError("\(error)")
        }
    }

    /// The folder that the settings name, which may not be there.
    func dataFolder() async throws -> String {
        let settings = try await serverSettings()
        guard let folder = settings.dataFolder else {
            throw CommandFailure("With --data :memory: nothing is kept. Give the folder that the server was given.")
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

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a command's result goes: a person's screen, a file, another program.
enum StandardOutput {
    /// Writes all of it; false if its reader is gone.
    static func put(_ bytes: [UInt8]) throws -> Bool {
        var written = 0
        while written < bytes.count {
            let part = Array(bytes[written...].prefix(64 * 1024))
            let count = write(STDOUT_FILENO, part, part.count)
            if count > 0 {
                written += count
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR {
                throw CommandFailure("Not all could be written to the standard output (errno \(errno)).")
            }
        }
        return true
    }

    /// `head` and its like stop reading: that is an end, not a signal that kills.
    static func ignoreClosedPipe() { signal(SIGPIPE, SIG_IGN) }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a person reads what went wrong.
enum StandardError {
    static func say(_ line: String) {
        let bytes = Array("mvi-server: \(line)\n".utf8)
        // A reader that is gone is no reason to fail.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
