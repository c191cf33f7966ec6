import ArgumentParser
import MVI
import SQLiteJournal
import SessionJournal

/// `import`: from a data folder into a database.
struct ImportCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import",
            abstract: "Take what is kept in a data folder into PostgreSQL.",
            discussion: """
                Takes --data, the folder to read, and --journal, the database, as servers do. No server may use either of them \
                meanwhile, and the database must have no session yet; the tables are made. All goes over in one transaction, or \
                nothing does: sessions with their tokens, credentials, labels, receipts, reminders and recorded turns, and the \
                journal's key. Clients go on with their token or cookie, and with the cursor of their stream. The folder stays \
                as it is; what features keep in it themselves does not go over.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            guard let target = try program.sharedJournal() else {
                throw CommandFailure(
                    "An import goes into PostgreSQL. Name the database with --journal, such as postgres://user@host:5432/name; --data is the folder to read."
                )
            }
            let source = SQLiteJournalFile(directory: try program.existingDataFolder())
            let counts: JournalCounts
            do throws(StoreError) { counts = try target.takeOver(source) } catch {
                throw CommandFailure("Nothing is imported. \(error)")
            }
            for reason in counts.damaged { StandardError.say("left out: \(reason)", by: Command.name) }
            // It is done, whether a reader is told of it or not.
            _ = try? StandardOutput.put(Array("\(target.place): \(counts.sentence)\n".utf8))
        }
    }
}

extension JournalCounts {
    /// The counts for a person to read.
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
