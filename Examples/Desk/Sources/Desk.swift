import JWTAuthentication
import MVI
import MVIServer

/// The program with the settings of the server, those of JWTs, and three of its own.
@main
struct Desk: FeatureServerCommand {
    static let summary = "Serve a support desk: tickets, comments, an outbox of mails."

    var jwt = JWTSettings()
    @Setting("outbox", .text, "The mail program's database.", valueName: "file")
    var outbox = "outbox.sqlite"
    @Setting("staff", .text, "The names of the staff, separated by commas.", valueName: "names")
    var staff = ""
    @Setting("development", .flag, "NOT FOR PRODUCTION: anybody can sign in as anybody.")
    var isForDevelopment = false

    func server(_ start: ServerStart) async throws -> FeatureServer {
        if isForDevelopment { start.logger.warning("NOT FOR PRODUCTION: anybody can sign in as anybody") }
        var authenticator: (any Authenticator)? = isForDevelopment ? AnyName() : nil
        if start.isServing, !isForDevelopment { authenticator = try await jwt.authenticator(logger: start.logger) }
        let mails = try Mails(start.isServing ? .file(outbox) : .memory)
        return FeatureServer(page: page, authenticator: authenticator, services: [mails]) {
            Self.features(staff: Set(staff.split(separator: ",").map(String.init)), mails)
        }
    }

    @FeatureBuilder static func features(staff: Set<String>, _ mails: Mails) -> ServerContent {
        Shared { Tickets(staff: staff) }.allows { who, _, access in who != nil && access != .dispose }
        // The client that opens a ticket makes its key, a random UUID: nobody guesses those of others.
        Shared { key in key.utf8.count == 36 ? Ticket(id: key, staff: staff) : nil }
            .allows { who, _, access in who != nil && access != .dispose }
        Shared { Outbox(mails: mails) }.allows { _, _, _ in false }
    }

    var page: [PageResource] {
        [
            PageResource("/", PackageResources.index_html), PageResource("/desk.js", PackageResources.desk_js),
            PageResource("/desk.css", PackageResources.desk_css),
        ]
    }

    /// In each backup, of the same moment as the tickets. After a restore, those of deleted people delete their mails.
    func ownFiles(_ settings: ServerSettings) throws -> [OwnFile] { [.sqlite(outbox, forget: nil)] }
}

/// NOT FOR PRODUCTION: believes every name.
private struct AnyName: Authenticator {
    func authenticate(_ proof: IdentityProof) async throws -> Principal {
        guard let name = proof.identity, !name.isEmpty else { throw AuthenticationError(.rejected, "Give a name.") }
        return Principal(issuer: "development", subject: name)
    }
}
