import JWTAuthentication
import MVI
import MVIServer
import SQLite

/// The program with the settings of the server, those of JWTs, and three of its own.
@main
struct Main: FeatureServerCommand {
    static let name = "desk"
    static let summary = "Serve a support desk: tickets, comments, an outbox of mails."

    var jwt = JWTSettings()
    @Setting("desk", .text, "The desk's database.", valueName: "file")
    var path = "desk.sqlite"
    @Setting("staff", .text, "The names of the staff, separated by commas.", valueName: "names")
    var staff = ""
    @Setting("development", .flag, "NOT FOR PRODUCTION: anybody can sign in as anybody.")
    var isForDevelopment = false

    func server(_ start: ServerStart) async throws -> FeatureServer {
        let logger = start.logger
        let desk = try Desk(
            start.isServing ? .file(path) : .memory, staff: Set(staff.split(separator: ",").map(String.init)))
        let outbox = Outbox(desk: desk, logger: logger) { mail in
            logger.info("mail", metadata: ["id": "\(mail.id)", "to": "\(mail.receiver)", "text": "\(mail.text)"])
        }
        var authenticator: (any Authenticator)?
        if isForDevelopment {
            logger.warning("NOT FOR PRODUCTION: anybody can sign in as anybody")
            authenticator = AnyName()
        } else if start.isServing {
            authenticator = try await jwt.authenticator(logger: logger)
        }
        return FeatureServer(
            page: desk.page, authenticator: authenticator, services: [outbox],
            onForget: { try await desk.forget($0.id) }
        ) {
            desk.features
        }
    }

    /// The desk's database is in each backup, of the same moment as the sessions.
    func ownFiles(_ settings: ServerSettings) throws -> [OwnFile] {
        let issuer = isForDevelopment ? AnyName.issuer : jwt.issuer ?? ""
        return [
            .sqlite(path) { path, deleted in
                var connection = try Connection(.file(path))
                try Desk.forget(in: &connection) { deleted.contains(Subject(issuer: issuer, id: $0)) }
            }
        ]
    }
}

/// NOT FOR PRODUCTION: believes every name.
private struct AnyName: Authenticator {
    static let issuer = "development"

    func authenticate(_ proof: IdentityProof) async throws -> Principal {
        guard let name = proof.identity, !name.isEmpty else {
            throw AuthenticationError(.rejected, "Give the name of a person as identity.")
        }
        return Principal(issuer: Self.issuer, subject: name)
    }
}

extension Desk {
    /// For everybody who signed in.
    @FeatureBuilder var features: ServerContent {
        Tickets(desk: self).requires { _ in true }
        Keyed(examples: ["1"]) { key in Int(key).map { Ticket(id: $0, desk: self) } }.requires { _ in true }
    }

    var page: [PageResource] {
        [
            PageResource("/", PackageResources.index_html), PageResource("/desk.js", PackageResources.desk_js),
            PageResource("/desk.css", PackageResources.desk_css),
        ]
    }
}
