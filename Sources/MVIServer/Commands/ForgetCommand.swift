import ArgumentParser
import MVI
import WireJSON

/// `forget SUBJECT`: has a running server delete all data of a subject.
struct ForgetCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "forget",
            abstract: "Delete all data of a subject.",
            discussion: """
                Asks the server on --admin-host and --admin-port, which calls its own deletion first. Ends the subject's \
                sessions and deletes their rows. Disable the account first: a later sign-in begins anew. After an error, \
                repeat the command. Exits with 2 if nothing of the subject was found: it may be misspelled, or of another \
                issuer.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The subject, as its issuer writes it.") var subject: String

    @Option(
        help: """
            The issuer of the subject: the iss of JWTs, 'proxy' for users of --identity-header. Without it, the only one \
            of the server's authenticator.
            """)
    var issuer: String?

    @Option(help: "The server's admin token. Other users see it on the command line. [MVI_ADMIN_TOKEN]")
    var token: String?

    private struct Counts: Decodable {
        let sessions, stores, spaces: Int
        let issuer: String
    }
    private struct Refusal: Decodable { let detail: String }

    func run() async throws {
        try await reporting {
            let settings = try program.settings().server
            guard let port = settings.adminPort else {
                throw CommandFailure("Which server? Give its --admin-port, and --admin-host if it is not this machine.")
            }
            let query =
                "subject=\(PercentEncoding.component(subject))"
                + (issuer.map { "&issuer=\(PercentEncoding.component($0))" } ?? "")
            let answer: (status: Int, body: String)
            do throws(HealthProbe.Failure) {
                answer = try HealthProbe.answer(
                    "DELETE", host: settings.adminHost, port: port, target: "/admin/subjects?\(query)",
                    token: token ?? SettingsSource.variable("MVI_ADMIN_TOKEN"), seconds: 600)
            } catch {
                throw CommandFailure("Nothing is known of the deletion: \(error). Repeat the command.")
            }
            let body = Array(answer.body.utf8)
            guard answer.status == 200, let counts = try? WireJSON.decode(Counts.self, from: body) else {
                let detail = (try? WireJSON.decode(Refusal.self, from: body).detail) ?? answer.body
                throw CommandFailure("The server answered \(answer.status): \(detail)")
            }
            let name = "\(subject) of \(counts.issuer)".withoutInvisibles
            guard counts.sessions + counts.spaces > 0 else {
                StandardError.say(
                    "\(name): no session found, so none was deleted. Check the subject's spelling and --issuer.",
                    by: Command.name)
                throw ExitCode(2)
            }
            let spaces = counts.spaces > 0 ? ", removed from \(counts.spaces) shared spaces" : ""
            _ = try? StandardOutput.put(
                Array("\(name): \(counts.sessions) sessions with \(counts.stores) stores deleted\(spaces)\n".utf8))
        }
    }
}
