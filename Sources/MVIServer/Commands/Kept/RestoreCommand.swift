import ArgumentParser
import MVI
import SQLiteJournal

/// `restore FILE`: replaces the journal by a backup.
struct RestoreCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore",
            abstract: "Make a backup the journal of a data folder.",
            discussion: """
                Takes --data like the server, which must not run, and creates the folder if it does not exist. Every \
                session gets a new epoch, so that cursors and entity tags from after the backup are not valid, and \
                streams get a reset. Clients that signed out or ended a session after the backup are signed in again, \
                and revoked tokens are valid again: --sign-out prevents this. An existing journal is not overwritten: \
                move it away first, and the program's own files. The backup is not changed.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The backup to restore.") var file: String

    @Flag(help: "Sign all clients out, as the command 'sign-out' does.")
    var signOut = false

    func run() async throws {
        try await reporting {
            if let database = try program.sharedJournal() {
                throw CommandFailure(
                    "PostgreSQL restores its own backups (\(database.place)): use pg_restore, or put a base backup in place, then sign-out if all clients are to be signed out. The sessions get new epochs by themselves when a server connects. docs/deployment.md has more."
                )
            }
            let folder = try program.dataFolder()
            let sessions = try Restore.run(
                from: try FilePath.absolute(file), toFolder: folder, signingOut: signOut, with: try program.ownFiles())
            // The restore is done, even if its line cannot be printed.
            _ = try? StandardOutput.put(Array("\(folder)/journal.sqlite: \(sessions) sessions\n".utf8))
        }
    }
}

/// Replaces journals, and programs' own files, by backups.
enum Restore {
    /// Returns the number of sessions in the backup.
    static func run(
        from path: String, toFolder folder: String, signingOut: Bool = false, with own: [OwnFile] = []
    ) throws -> Int {
        guard try FilePath.isThere(path) else { throw CommandFailure("The backup '\(path)' does not exist.") }
        let isFolder = FilePath.isFolder(path)
        let journal = isFolder && !own.isEmpty ? "\(path)/journal.sqlite" : path
        for file in own {
            guard isFolder, try FilePath.isThere("\(path)/\(file.name)") else {
                throw CommandFailure(
                    "The backup '\(path)' lacks '\(file.name)'. It must be a folder with journal.sqlite and the program's own files, as backup makes it."
                )
            }
            for existing in file.paths where try FilePath.isThere(existing) {
                throw CommandFailure("'\(existing)' exists already; first move it away, with the journal.")
            }
        }
        // What a restore made that did not end.
        var made: [String] = []
        do {
            return try SQLiteJournalFile(directory: folder).restore(from: journal, signingOut: signingOut) { deleted in
                for file in own {
                    FileTree.remove(file.partial)
                    made.append(file.partial)
                    try copy(file, from: path, DeletedSubjects(finder: deleted))
                }
                // The journal is the last: without it, no server takes the restore for complete.
                for file in own {
                    try FileTree.publish(file.partial, as: file.path)
                    made.append(file.path)
                }
            }
        } catch {
            for path in made { FileTree.remove(path) }
            throw CommandFailure("The restore failed. \(error)")
        }
    }

    private static func copy(_ file: OwnFile, from backup: String, _ deleted: DeletedSubjects) throws {
        let source = "\(backup)/\(file.name)"
        if let copy = file.copy {
            try copy(source, file.partial)
        } else {
            try OwnDatabaseCopy.make(of: source, at: file.partial)
        }
        guard !deleted.isEmpty, let forget = file.forget else { return }
        do { try forget(file.partial, deleted) } catch {
            throw CommandFailure("People who were deleted since could not be deleted from '\(source)': \(error)")
        }
        if file.copy == nil { try OwnDatabaseCopy.clean(file.partial) }
    }
}
