import MVI
import ArgumentParser
import SessionJournal

/// `sessions`: which sessions are kept.
struct SessionsCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sessions",
            abstract: "List the sessions that are kept.",
            discussion: """
                Takes --data and --journal as the server does. Reads what is kept, whether a server runs or not, and changes nothing. \
                A heading, then one line a session, oldest first, with tabs between: its id, when it was created, when it was last used as \
                far as that was noted, how many stores it has, and how many bytes their states have.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            try SessionList.write(of: try program.journal()) { try StandardOutput.put($0) }
        }
    }
}

/// The list of sessions as text.
enum SessionList {
    /// The number of sessions read at a time: a running server keeps its log while a command reads.
    static let step = 1_000

    /// - Parameter write: takes a piece of the list; false if no more is wanted.
    static func write(
        of journal: any JournalInspection, step: Int = step, to write: ([UInt8]) throws -> Bool
    ) throws {
        var heading = "id\tcreated\tlast seen\tstores\tbytes\n"
        var last: SessionKey?
        while true {
            let sessions: [SessionOverview]
            do throws(StoreError) {
                sessions = try journal.sessions(after: last, limit: step)
            } catch {
                throw CommandFailure("\(error)")
            }
            // After the first look, so that none stands over an error.
            guard try write(Array(heading.utf8) + sessions.flatMap { Array(line($0).utf8) }) else { return }
            heading = ""
            guard let newest = sessions.last else { return }
            last = newest.key
        }
    }

    private static func line(_ session: SessionOverview) -> String {
        let created = Timestamp(sinceEpoch: session.created).description
        let lastSeen = Timestamp(sinceEpoch: session.lastSeen).description
        return "\(session.id)\t\(created)\t\(lastSeen)\t\(session.stores)\t\(session.bytes)\n"
    }
}
