import ArgumentParser
import MVI
import SessionJournal

/// `export SESSION`: prints everything that is stored of a session.
struct ExportCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            abstract: "Print everything that is stored of a session as JSON.",
            discussion: """
                Takes --data and --journal like the server, which may run. Changes nothing. The format is \
                mvi-session/1 of docs/fixtures.md; tests can replay recorded turns (--record-turns). The document \
                contains data of the session's user: protect it.
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

/// Exports sessions as documents.
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
                "There is no session '\(session)' in '\(journal.place)'. The command `sessions` lists all sessions."
            )
        }
        return SessionDocument.write(export)
    }
}
