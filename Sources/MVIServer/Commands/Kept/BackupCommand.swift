import ArgumentParser
import MVI
import SQLiteJournal

/// `backup FILE`: a copy of the journal, with or without a running program.
struct BackupCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            abstract: "Copy what is kept into a new file.",
            discussion: """
                Takes --data as the server does, which may run and goes on meanwhile. The copy is one moment's, complete \
                and synced when the command ends; 'restore' makes a journal of it. Nothing is \
                overwritten.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The file to make; it must not be there yet.") var file: String

    func run() async throws {
        try await reporting {
            if let database = try program.sharedJournal() {
                throw CommandFailure(
                    "PostgreSQL makes its own backups (\(database.place)): use pg_dump with --schema, or pg_basebackup and an archive of its log. docs/deployment.md has more."
                )
            }
            let folder = try program.existingDataFolder()
            let path = try FilePath.absolute(file)
            try Backup.make(at: path, ofFolder: folder)
            // It is made, whether a reader is told of it or not.
            _ = try? StandardOutput.put(Array("\(path): \(FilePath.size(of: path) ?? 0) bytes\n".utf8))
        }
    }
}

/// Makes copies of journals.
enum Backup {
    static func make(at path: String, ofFolder folder: String) throws {
        guard try !FilePath.isThere(path) else {
            throw CommandFailure(
                "'\(path)' is there already, and a backup overwrites nothing. Give another name, or remove it first.")
        }
        guard FilePath.isFolder(FilePath.parent(of: path)) else {
            throw CommandFailure("There is no folder '\(FilePath.parent(of: path))' to make the backup in.")
        }
        // Opening would make one.
        guard try FilePath.isThere("\(folder)/journal.sqlite") else {
            throw CommandFailure("There is no journal in '\(folder)'. Give the folder that the server was given.")
        }
        var removal: RemovalAtSignal?
        defer { removal?.cancel() }
        do throws(StoreError) {
            try SQLiteJournalFile(directory: folder).backup(to: path) { removal = RemovalAtSignal(of: $0) }
        } catch {
            throw CommandFailure("There is no backup. \(error)")
        }
    }
}
