import ArgumentParser
import MVI
import SQLiteJournal
import SessionJournal

/// `import`: copies a data folder into a database.
struct ImportCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import",
            abstract: "Copy the sessions of a data folder into PostgreSQL.",
            discussion: """
                Takes --data (the folder to read) and --journal (the database) like servers. No server may use either \
                of them meanwhile, and the database must have no session yet; its tables are created. One transaction \
                copies all sessions with their tokens, credentials, labels, receipts, reminders and recorded turns, \
                and the journal's key. Clients continue with their token or cookie and their stream's cursor. The \
                folder is not changed; features' own files in it are not copied.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            guard let target = try program.sharedJournal() else {
                throw CommandFailure(
                    "An import needs a PostgreSQL database. Name it with --journal, such as postgres://user@host:5432/name; --data is the folder to read."
                )
            }
            let source = SQLiteJournalFile(directory: try program.existingDataFolder())
            let counts: JournalCounts
            do throws(StoreError) { counts = try target.takeOver(source) } catch {
                throw CommandFailure("The import failed; nothing was imported. \(error)")
            }
            for reason in counts.damaged { StandardError.say("left out: \(reason)", by: Command.name) }
            // The import is done, even if its line cannot be printed.
            _ = try? StandardOutput.put(Array("\(target.place): \(counts.sentence)\n".utf8))
        }
    }
}

extension JournalCounts {
    /// The counts as a sentence.
    var sentence: String {
        let parts = [
            (sessions, "sessions"), (stores, "stores"), (credentials, "credentials"), (labels, "labels"),
            (receipts, "receipts"), (reminders, "reminders"), (recordedTurns, "recorded turns"),
            (statesSetAside, "states set aside"), (endedTokens, "ended tokens"),
        ]
        let all = parts.map { "\($0) \($1)" } + (damaged.isEmpty ? [] : ["\(damaged.count) damaged sessions left out"])
        return all.joined(separator: ", ")
    }
}
