import ArgumentParser
import MVIServer
import SQLiteJournal
import SessionJournal

/// `mvi-server export SESSION`: everything that is kept of a session.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print everything that is kept of a session as JSON.",
        discussion: """
            Takes --data as the server does. Reads the data folder, whether a server runs or not, and changes nothing. \
            The format is mvi-session/1 of docs/fixtures.md; with turns that were recorded (--record-turns) tests can \
            replay it. It holds what the session's user entered: treat it like that.
            """)

    @ParentCommand var server: ServerCommand

    @Argument(help: "The session's public id, as `mvi-server sessions` lists it.") var session: String

    func run() async throws {
        try await reporting {
            let folder = try await server.existingDataFolder()
            StandardOutput.ignoreClosedPipe()
            _ = try StandardOutput.put(try Export.document(of: session, inFolder: folder))
        }
    }
}

/// Sessions as documents.
enum Export {
    static func document(of session: String, inFolder folder: String) throws -> [UInt8] {
        let export: SessionExport?
        do {
            export = try SQLiteJournalFile(directory: folder).export(session)
        } catch {
            throw CommandFailure("\(error)")
        }
        guard let export else {
            throw CommandFailure(
                "There is no session '\(session)' in '\(folder)'. `mvi-server sessions` lists those that there are.")
        }
        return SessionDocument.write(export)
    }
}
