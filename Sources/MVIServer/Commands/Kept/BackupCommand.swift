import ArgumentParser
import MVI
import SQLiteJournal

/// `backup FILE`: copies the journal and the program's own files, also of a running server.
struct BackupCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            abstract: "Copy the journal into a new file.",
            discussion: """
                Takes --data like the server, which may run. The copy is a consistent snapshot, complete and synced \
                when the command ends; 'restore' makes it a journal. An existing file is not overwritten. If the program \
                has files of its own, such as another database, the copy is a folder with them and the journal.
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
            try Backup.make(at: path, ofFolder: folder, with: try program.ownFiles())
            // The backup exists, even if its line cannot be printed.
            _ = try? StandardOutput.put(Array("\(path): \(FileTree.size(of: path)) bytes\n".utf8))
        }
    }
}

/// Makes backups of journals, and of programs' own files.
enum Backup {
    static func make(at path: String, ofFolder folder: String, with own: [OwnFile] = []) throws {
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
        let journal = SQLiteJournalFile(directory: folder)
        var removal: RemovalAtSignal?
        defer { removal?.cancel() }
        do {
            if own.isEmpty {
                try journal.backup(to: path, begun: { removal = RemovalAtSignal(of: $0) })
            } else {
                try make(at: path, of: journal, with: own) { removal = RemovalAtSignal(of: $0) }
            }
        } catch {
            throw CommandFailure("The backup failed. \(error)")
        }
    }

    /// Makes a folder with copies of the journal and of files. It has another name until it is complete.
    private static func make(
        at path: String, of journal: SQLiteJournalFile, with own: [OwnFile], begun: (_ partial: String) -> Void
    ) throws {
        for file in own where try !FilePath.isThere(file.path) {
            throw CommandFailure("The program's file '\(file.path)' does not exist.")
        }
        let partial = "\(path).partial"
        try FileTree.makeFolder(partial)
        begun(partial)
        do {
            // From here on the databases do not change until the journal's snapshot has begun: theirs are of that moment.
            let snapshots = try own.map { $0.copy == nil ? try OwnDatabaseSnapshot(of: $0.path) : nil }
            try journal.backup(
                to: "\(partial)/journal.sqlite",
                atSnapshot: { for case let snapshot? in snapshots { try snapshot.begin() } })
            for (file, snapshot) in zip(own, snapshots) {
                let target = "\(partial)/\(file.name)"
                if let snapshot { try snapshot.copy(to: target) } else { try file.copy?(file.path, target) }
            }
            try FileTree.publish(partial, as: path)
        } catch {
            FileTree.remove(partial)
            throw error
        }
    }
}
