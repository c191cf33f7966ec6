import ArgumentParser
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
                move it away first. The backup is not changed.
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
                from: try FilePath.absolute(file), toFolder: folder, signingOut: signOut)
            // The restore is done, even if its line cannot be printed.
            _ = try? StandardOutput.put(Array("\(folder)/journal.sqlite: \(sessions) sessions\n".utf8))
        }
    }
}

/// Replaces journals by backups.
enum Restore {
    /// Returns the number of sessions in the backup.
    static func run(from path: String, toFolder folder: String, signingOut: Bool = false) throws -> Int {
        guard try FilePath.isThere(path) else { throw CommandFailure("The backup '\(path)' does not exist.") }
        do {
            return try SQLiteJournalFile(directory: folder).restore(from: path, signingOut: signingOut)
        } catch {
            throw CommandFailure("The restore failed. \(error)")
        }
    }
}
