import ArgumentParser
import MVI
import SessionJournal

/// `export SESSION`: everything that is kept of a session.
struct ExportCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            abstract: "Print everything that is kept of a session as JSON.",
            discussion: """
                Takes --data and --journal as the server does. Reads what is kept, whether a server runs or not, and changes nothing. \
                The format is mvi-session/1 of docs/fixtures.md; with turns that were recorded (--record-turns) tests can \
                replay it. It holds what the session's user entered: treat it like that.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The session's public id, as `sessions` lists it.") var session: String

    func run() async throws {
        try await reporting {
            _ = try StandardOutput.put(try Export.document(of: session, in: try program.journal()))
        }
    }
}

/// Sessions as documents.
enum Export {
    static func document(of session: String, in journal: any JournalInspection) throws -> [UInt8] {
        let export: SessionExport?
        do throws(StoreError) {
            export = try journal.export(session)
        } catch {
            throw CommandFailure("\(error)")
        }
        guard let export else {
            throw CommandFailure(
                "There is no session '\(session)' in '\(journal.place)'. The command `sessions` lists those that there are."
            )
        }
        return SessionDocument.write(export)
    }
}
