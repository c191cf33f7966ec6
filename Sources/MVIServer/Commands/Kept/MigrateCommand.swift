import ArgumentParser
import SessionJournal

/// `migrate`: readies the database for this version.
struct MigrateCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            abstract: "Make the schema in PostgreSQL, or bring it up to date.",
            discussion: """
                Takes --journal and --journal-schema as the server does, with a user that owns the schema or may make it. \
                Servers with such a user do the same by themselves when they start; those whose user owns nothing need this \
                before. Servers of the version before go on meanwhile. It waits for transactions that hold the tables, and \
                keeps nobody waiting for longer than a fifth of a second at a time.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>
    @Option(help: "A role that may use the journal from then on, and owns nothing of it.") var role: String?

    func run() async throws {
        try await reporting {
            let (settings, command) = try program.settings()
            guard case .postgres = settings.journal else {
                throw CommandFailure("Only a journal in PostgreSQL needs this: give its URL with --journal.")
            }
            guard let storage = command.sharedStorage else {
                throw CommandFailure(
                    "--journal names PostgreSQL, which this program was built without: see sharedStorage.")
            }
            do { try storage.migrate(settings, role) } catch {
                throw CommandFailure("The schema is not up to date. \(error)")
            }
            _ = try? StandardOutput.put(Array("The schema \(settings.journalSchema) is up to date.\n".utf8))
        }
    }
}
