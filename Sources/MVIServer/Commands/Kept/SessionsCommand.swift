import MVI
import ArgumentParser
import SessionJournal

/// `sessions`: lists the stored sessions.
struct SessionsCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sessions",
            abstract: "List the stored sessions.",
            discussion: """
                Takes --data and --journal like the server, which may run. Changes nothing. Prints a heading, then one \
                line per session, oldest first, with tabs between the fields: id, time of creation, last recorded use, \
                number of stores, bytes of their states, and the name of a shared store's space.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            try SessionList.write(of: try program.journal()) { try StandardOutput.put($0) }
        }
    }
}

/// Prints the list of sessions as text.
enum SessionList {
    /// The number of sessions per read. A running server cannot truncate its log while a command reads.
    static let step = 1_000

    /// - Parameter write: writes a piece of the list. Returns false to stop.
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
            // After the first read, so that no heading precedes an error.
            guard try write(Array(heading.utf8) + sessions.flatMap { Array(line($0).utf8) }) else { return }
            heading = ""
            guard let newest = sessions.last else { return }
            last = newest.key
        }
    }

    private static func line(_ session: SessionOverview) -> String {
        let created = Timestamp(sinceEpoch: session.created).description
        let lastSeen = Timestamp(sinceEpoch: session.lastSeen).description
        let space = session.space.map { "\t\($0)" } ?? ""
        return "\(session.id.withoutInvisibles)\t\(created)\t\(lastSeen)\t\(session.stores)\t\(session.bytes)\(space)\n"
    }
}
