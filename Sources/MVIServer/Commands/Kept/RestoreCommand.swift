import ArgumentParser
import SQLiteJournal

/// `restore FILE`: a backup in the place of the journal.
struct RestoreCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore",
            abstract: "Make a backup the journal of a data folder.",
            discussion: """
                Takes --data as the server does, which must not run, and makes the folder if it is not there. Every session \
                gets a new epoch: what clients remember of the life that the backup does not have (cursors, entity tags) is \
                not taken for anything of this one, and their streams get a reset. Who signed out or ended a session after the \
                backup was made is signed in again, and a stolen token that was revoked is good again: --sign-out prevents \
                that. Nothing is overwritten: move a journal that is there away first. The backup stays as it is.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The backup to restore.") var file: String

    @Flag(help: "Sign everybody out, as the command 'sign-out' does.")
    var signOut = false

    func run() async throws {
        try await reporting {
            if let database = try program.sharedJournal() {
                throw CommandFailure(
                    "PostgreSQL restores its own backups (\(database.place)): use pg_restore, or put a base backup in place, then sign-out if nobody is to be signed in. The sessions get new epochs by themselves when a server connects. docs/deployment.md has more."
                )
            }
            let folder = try program.dataFolder()
            let sessions = try Restore.run(
                from: try FilePath.absolute(file), toFolder: folder, signingOut: signOut)
            // It is done, whether a reader is told of it or not.
            _ = try? StandardOutput.put(Array("\(folder)/journal.sqlite: \(sessions) sessions\n".utf8))
        }
    }
}

/// Puts backups in the place of journals.
enum Restore {
    /// Returns how many sessions the backup has.
    static func run(from path: String, toFolder folder: String, signingOut: Bool = false) throws -> Int {
        guard try FilePath.isThere(path) else { throw CommandFailure("There is no backup '\(path)'.") }
        do {
            return try SQLiteJournalFile(directory: folder).restore(from: path, signingOut: signingOut)
        } catch {
            throw CommandFailure("Nothing is restored. \(error)")
        }
    }
}
