import ArgumentParser
import SessionJournal

/// `migrate`: prepares the database for this version.
struct MigrateCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            abstract: "Create or update the schema in PostgreSQL.",
            discussion: """
                Takes --journal and --journal-schema like the server, with a user that owns the schema or may create \
                it. Servers with such a user migrate at their start; servers whose user owns nothing need this command \
                before. Servers of the previous version keep running. It waits for transactions that lock the tables, \
                and blocks others for at most a fifth of a second at a time.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>
    @Option(help: "A role that is granted the use of the journal, without owning it.") var role: String?

    func run() async throws {
        try await reporting {
            let (settings, command) = try program.settings()
            guard case .postgres = settings.journal else {
                throw CommandFailure("This command is for a journal in PostgreSQL: give its URL with --journal.")
            }
            guard let storage = command.sharedStorage else {
                throw CommandFailure(
                    "--journal names PostgreSQL, which this program lacks: see sharedStorage.")
            }
            do { try storage.migrate(settings, role) } catch {
                throw CommandFailure("The migration failed. \(error)")
            }
            _ = try? StandardOutput.put(Array("The schema \(settings.journalSchema) is up to date.\n".utf8))
        }
    }
}
