import ArgumentParser
import Logging
import MVIServer
import SQLiteJournal

/// `mvi-server backup FILE`: a copy of the journal, with or without a running server.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy what is kept into a new file.",
        discussion: """
            Takes --data as the server does. A server that runs makes the copy itself and goes on serving meanwhile; \
            the file is the server's user's then. Without one this makes it. The copy is one moment's, complete and \
            synced when the command ends; to restore it, stop the server and put it in the place of journal.sqlite, \
            without the files journal.sqlite-wal and journal.sqlite-shm. Nothing is overwritten.
            """)

    @ParentCommand var server: ServerCommand

    @Argument(help: "The file to make; it must not be there yet.") var file: String

    func run() async throws {
        try await reporting {
            let folder = try await server.existingDataFolder()
            let path = try FilePath.absolute(file)
            try await Backup.make(at: path, ofFolder: folder)
            _ = try StandardOutput.put(Array("\(path): \(FilePath.size(of: path) ?? 0) bytes\n".utf8))
        }
    }
}

/// Makes copies of journals.
enum Backup {
    /// - Parameter path: an absolute one.
    static func make(at path: String, ofFolder folder: String) async throws {
        guard !FilePath.isThere(path) else {
            throw CommandFailure(
                "'\(path)' is there already, and a backup overwrites nothing. Give another name, or remove it first.")
        }
        guard FilePath.isFolder(FilePath.parent(of: path)) else {
            throw CommandFailure("There is no folder '\(FilePath.parent(of: path))' to make the backup in.")
        }
        do throws(ControlFailure) {
            if try await ControlClient.ask("backup", path, folder: folder) != nil { return }
        } catch {
            throw CommandFailure("There is no backup. \(error)")
        }
        try await makeAlone(at: path, ofFolder: folder)
    }

    /// Without a server: this process is the only one that has the journal open meanwhile.
    private static func makeAlone(at path: String, ofFolder folder: String) async throws {
        // Opening would make one.
        guard FilePath.isThere("\(folder)/journal.sqlite") else {
            throw CommandFailure("There is no journal in '\(folder)'. Give the folder that the server was given.")
        }
        let journal: SQLiteJournal
        do {
            journal = try await SQLiteJournal.open(
                directory: folder, logger: Logger(label: "mvi-server", factory: { _ in SwiftLogNoOpLogHandler() }))
        } catch {
            throw CommandFailure(
                "There is no backup. \(error) If a server has just been started, try again in a moment.")
        }
        do {
            try await journal.backup(to: path)
        } catch {
            await journal.close()
            throw CommandFailure("There is no backup. \(error)")
        }
        await journal.close()
    }
}
