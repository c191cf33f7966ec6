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
            Takes --data and --journal as the server does. Reads what is kept, whether a server runs or not, and changes nothing. \
            The format is mvi-session/1 of docs/fixtures.md; with turns that were recorded (--record-turns) tests can \
            replay it. It holds what the session's user entered: treat it like that.
            """)

    @ParentCommand var server: ServerCommand

    @Argument(help: "The session's public id, as `mvi-server sessions` lists it.") var session: String

    func run() async throws {
        try await reporting {
            StandardOutput.ignoreClosedPipe()
            if let database = try await server.sharedDatabase() {
                let document = try Export.document(of: session, in: database.place) { try database.export($0) }
                _ = try StandardOutput.put(document)
            } else {
                let folder = try await server.existingDataFolder()
                _ = try StandardOutput.put(try Export.document(of: session, inFolder: folder))
            }
        }
    }
}

/// Sessions as documents.
enum Export {
    static func document(of session: String, inFolder folder: String) throws -> [UInt8] {
        try document(of: session, in: folder) { try SQLiteJournalFile(directory: folder).export($0) }
    }

    /// - Parameter place: where sessions are kept, for a message.
    static func document(
        of session: String, in place: String, reading read: (String) throws -> SessionExport?
    ) throws -> [UInt8] {
        let export: SessionExport?
        do {
            export = try read(session)
        } catch {
            throw CommandFailure("\(error)")
        }
        guard let export else {
            throw CommandFailure(
                "There is no session '\(session)' in '\(place)'. `mvi-server sessions` lists those that there are.")
        }
        return SessionDocument.write(export)
    }
}
