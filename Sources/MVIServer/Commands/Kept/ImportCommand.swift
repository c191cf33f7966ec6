import ArgumentParser
import Logging
import MVI
import SQLiteJournal
import SessionJournal
import Sessions

/// `import`: copies a data folder into a database, or makes a session from a recorded one.
struct ImportCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import",
            abstract: "Copy a data folder into PostgreSQL, or make a session from a recorded one.",
            discussion: """
                Without a file, it takes --data (the folder to read) and --journal (the database) like servers. No server may use either \
                of them meanwhile, and the database must have no session yet; its tables are created. One transaction \
                copies all sessions with their tokens, credentials, labels, receipts, reminders and recorded turns, \
                and the journal's key. Clients continue with their token or cookie and their stream's cursor. The \
                folder is not changed; features' own files in it are not copied.

                With a FILE, which is an export with recorded turns, it makes an anonymous session in the data folder \
                --data, with the stores as they were after the turn --at, and prints its token. Reminders and work of \
                the recorded session are not in it, and pseudonyms stand for secrets. No server may use the folder \
                meanwhile.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "An exported session with recorded turns.") var file: String?

    @Option(help: "The number of the turn after which the new session begins.") var at: UInt64?

    func validate() throws {
        guard (file == nil) == (at == nil) else { throw ValidationError("Give a file together with --at.") }
    }

    func run() async throws {
        try await reporting {
            if let file, let at { return try await fork(file, at: at) }
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
            _ = try? StandardOutput.put(Array("\(target.place.withoutInvisibles): \(counts.sentence)\n".utf8))
        }
    }

    private func fork(_ file: String, at turn: UInt64) async throws {
        var found: [UInt8]?
        try Recordings.forEach(at: file) { _, document in
            guard found == nil else { throw CommandFailure("'\(file)' must have one session, and has more.") }
            found = document
        }
        guard let document = found else { throw CommandFailure("'\(file)' must have a session, and is empty.") }
        let fork: Fork
        do throws(NotRecorded) { fork = try Fork(try RecordedSession(document), at: turn) } catch {
            throw CommandFailure("'\(file)' \(error)")
        }
        let silent = Logger(label: Command.name) { _ in SwiftLogNoOpLogHandler() }
        let token: String
        do {
            let journal = try await SQLiteJournal.open(directory: try program.dataFolder(), logger: silent)
            token = try await fork.make(in: journal, now: TimeSource.system.sinceEpoch())
            await journal.close()
        } catch {
            throw CommandFailure("The session cannot be stored in '\(try program.dataFolder())': \(error)")
        }
        if !fork.disposed.isEmpty {
            StandardError.say("Disposed of, and left out: \(fork.disposed.joined(separator: ", "))", by: Command.name)
        }
        StandardError.say("A session with \(fork.features.joined(separator: ", ")); its token:", by: Command.name)
        _ = try StandardOutput.put(Array("\(token)\n".utf8))
    }
}

extension JournalCounts {
    /// The counts as a sentence.
    var sentence: String {
        let parts = [
            (sessions, "sessions"), (stores, "stores"), (credentials, "credentials"), (labels, "labels"),
            (receipts, "receipts"), (reminders, "reminders"), (recordedTurns, "recorded turns"),
            (statesSetAside, "states set aside"), (visits, "visits"), (senders, "senders of messages"),
            (endedTokens, "ended tokens"),
        ]
        let all = parts.map { "\($0) \($1)" } + (damaged.isEmpty ? [] : ["\(damaged.count) damaged sessions left out"])
        return all.joined(separator: ", ")
    }
}
