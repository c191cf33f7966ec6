import Logging
import MVI
import MVIServer
import SessionJournal
import Sessions
import TestSupport

@testable import MVIServer

/// A server in this process that listens on 127.0.0.1.
struct LiveServer: Sendable {
    /// Believes every name.
    struct Names: Authenticator {
        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            guard let name = proof.identity else { throw AuthenticationError(.rejected, "There is no name.") }
            return Principal(issuer: "tests", subject: name)
        }
    }

    private let assembly: Assembly
    private let held: LoopbackPort

    var port: UInt16 { held.number }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - journal: what outlives the server; one that is given again is a server that was started again.
    ///   - earlier: a stopped server whose place this one takes.
    init(_ journal: MemoryJournal = MemoryJournal(), after earlier: LiveServer? = nil) throws {
        held = try earlier?.held ?? LoopbackPort()
        var settings = ServerSettings()
        settings.port = held.number
        assembly = try Assembly(
            Self.content(), settings: settings,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), authenticator: Names(),
            adapt: { parts in
                SessionEnvironment(
                    features: parts.features, limits: parts.limits, journal: journal, middleware: parts.middleware)
            })
        try assembly.http.start()
    }

    @FeatureBuilder
    private static func content() throws -> ServerContent {
        Counter()
        Tally()
        Secrets().requires { _ in true }
    }

    func stop() async {
        assembly.sessions.drain()
        await assembly.http.shutdown(grace: .seconds(2))
    }

    /// Runs a test on a server, and stops it after.
    static func run(_ journal: MemoryJournal = MemoryJournal(), _ test: @Sendable (LiveServer) async throws -> Void)
        async throws
    {
        let server = try LiveServer(journal)
        do {
            try await test(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}
