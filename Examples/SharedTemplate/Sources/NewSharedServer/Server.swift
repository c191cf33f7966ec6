import JWTAuthentication
import MVIServer

/// The program: serves the features in `content`, with all flags and commands of a server (`--help`).
@main
struct Server: FeatureServerCommand {
    static let name = "new-shared-server"
    static let version = "0.1.0"

    /// The issuer of the staff's tokens: `--jwt-issuer`, `--jwt-audience`, `--jwt-keys`.
    var jwt = JWTSettings()

    func server(_ start: ServerStart) async throws -> FeatureServer {
        let authenticator = start.isServing ? try await jwt.authenticator(logger: start.logger) : nil
        guard authenticator != nil || !start.isServing else {
            throw SettingError(
                name: "jwt-issuer", given: "",
                expected: "the issuer of the staff's tokens; on your own machine start the server with ./development")
        }
        return FeatureServer(page: page, authenticator: authenticator) { content }
    }

    var content: ServerContent {
        // Only staff may empty the line.
        Shared { Waitlist() }.allows { who, _, access in access != .dispose || who?.staffName != nil }
    }

    var page: [PageResource] {
        [
            PageResource("/", PackageResources.index_html),
            PageResource("/page.css", PackageResources.page_css),
            PageResource("/page.js", PackageResources.page_js),
        ]
    }
}
