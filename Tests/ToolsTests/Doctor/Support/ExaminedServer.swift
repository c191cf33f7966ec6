@testable import mvi_tools
import Logging
import MVI
import SessionJournal
import Sessions

@testable import MVIServer

/// A server in this process, examined behind a relay.
struct ExaminedServer: Sendable {
    /// A feature without a key, whose state doctor reads.
    struct Tally: Feature {
        struct State: Codable, Equatable, Sendable { var count = 0 }
        enum Intent: Codable, Sendable { case add(amount: Int) }
        enum Message: Codable, Sendable { case added(Int) }
        enum Label: Codable, Equatable, Sendable { case cheered(count: Int) }

        static let name = "tally"
        static let examples: [Intent] = [.add(amount: 5)]
        static let labelExamples: [Label] = [.cheered(count: 5)]
        let initialState = State()

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
            switch intent {
            case .add(let amount): turn.dispatch(.added(amount))
            }
        }

        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .added(let amount): state.count += amount
            }
        }
    }

    /// Accepts every name.
    struct Names: Authenticator {
        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            guard let name = proof.identity else { throw AuthenticationError(.rejected, "There is no name.") }
            return Principal(issuer: "tests", subject: name)
        }
    }

    private let assembly: Assembly

    /// Examines a server with short timeouts and stops it afterwards.
    ///
    /// - Returns: the findings by check, and the number of the server's sessions afterwards.
    static func examine(
        _ relay: Relay = Relay(), watch: Duration = .milliseconds(100),
        settings change: (inout ServerSettings) -> Void = { _ in },
        options: @escaping @Sendable (inout DoctorOptions) -> Void = { _ in }
    ) async throws -> (found: [Check: Finding], sessions: Int) {
        var settings = ServerSettings()
        settings.port = 0
        settings.heartbeat = .seconds(1)
        change(&settings)
        let server = try Self(settings)
        let found: [Check: Finding]
        do {
            found = try await relay.run(to: server.assembly.http.port) { port in
                guard let address = ServerAddress("http://127.0.0.1:\(port)") else { return [:] }
                var given = DoctorOptions(address)
                given.patience = .seconds(10)
                given.watch = watch
                options(&given)
                let report = DoctorReport(try await Examination(given).run())
                return Dictionary(uniqueKeysWithValues: report.findings.map { ($0.check, $0) })
            }
        } catch {
            await server.stop()
            throw error
        }
        let sessions = server.assembly.sessions.count
        await server.stop()
        return (found, sessions)
    }

    private init(_ settings: ServerSettings) throws {
        assembly = try Assembly(
            try Self.content(), settings: settings,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            authenticator: settings.requireIdentity ? Names() : nil)
        try assembly.http.start()
    }

    @FeatureBuilder
    private static func content() throws -> ServerContent { Tally() }

    private func stop() async {
        assembly.sessions.drain()
        await assembly.http.shutdown(grace: .seconds(2))
    }
}
