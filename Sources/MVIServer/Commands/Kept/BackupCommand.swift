import ArgumentParser
import MVI
import SQLiteJournal

/// `backup FILE`: copies the journal, also of a running server.
struct BackupCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            abstract: "Copy the journal into a new file.",
            discussion: """
                Takes --data like the server, which may run. The copy is a consistent snapshot, complete and synced \
                when the command ends; 'restore' makes it a journal. An existing file is not overwritten.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The file to create; it must not exist.") var file: String

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
            // The backup exists, even if its line cannot be printed.
            _ = try? StandardOutput.put(Array("\(path): \(FilePath.size(of: path) ?? 0) bytes\n".utf8))
        }
    }
}

/// Makes backups of journals.
enum Backup {
    static func make(at path: String, ofFolder folder: String) throws {
        guard try !FilePath.isThere(path) else {
            throw CommandFailure(
                "'\(path)' exists, and a backup overwrites no file. Give another name, or remove the file.")
        }
        guard FilePath.isFolder(FilePath.parent(of: path)) else {
            throw CommandFailure("The backup's folder '\(FilePath.parent(of: path))' does not exist.")
        }
        // Opening would create a journal.
        guard try FilePath.isThere("\(folder)/journal.sqlite") else {
            throw CommandFailure("There is no journal in '\(folder)'. Give the server's data folder.")
        }
        var removal: RemovalAtSignal?
        defer { removal?.cancel() }
        do throws(StoreError) {
            try SQLiteJournalFile(directory: folder).backup(to: path) { removal = RemovalAtSignal(of: $0) }
        } catch {
            throw CommandFailure("The backup failed. \(error)")
        }
    }
}
