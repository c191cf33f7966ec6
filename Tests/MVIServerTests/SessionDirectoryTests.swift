import Logging
import MVI
import TestSupport
import Testing

@testable import MVIServer

/// Finds sessions in launched work, as an administrator's feature does.
private struct Finder: Feature {
    struct State: Codable, Equatable, Sendable { var found: [SessionDirectory.Entry] = [], hasFailed = false }
    enum Intent: Codable, Sendable { case find(subject: String) }
    enum Message: Sendable { case found([SessionDirectory.Entry]), failed }

    static let examples: [Intent] = [.find(subject: "ann")]
    let initialState = State()
    let sessions: SessionDirectory

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .find(let subject) = intent else { return }
        turn.launch { [sessions] work in
            await work.dispatch(.found(try await sessions.sessions(of: Subject(issuer: "", id: subject))))
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { turn.dispatch(.failed) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .found(let entries): state.found = entries
        case .failed: state.hasFailed = true
        }
    }
}

@Suite("The directory of sessions", .timeLimit(.minutes(10)))
struct SessionDirectoryTests {
    private struct Word: Authenticator {
        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            Principal(subject: proof.identity ?? "")
        }
    }

    @Test func `a feature finds the server's sessions by a directory that was created before them`() async throws {
        let directory = SessionDirectory()
        try await TestServer.run(
            .memory, directory: directory, authenticator: Word(), content: { _ in Self.finder(directory) }
        ) { server in
            let made = try await server.send(
                TestRequest(
                    "POST", "/sessions", [("Content-Type", "application/json")], body: #"{"identity":"ann"}"#))
            struct Made: Decodable { var id, token: String }
            let ann = try made.json(Made.self)
            let credential = Credential(id: ann.id, field: ("Authorization", "Bearer \(ann.token)"), secret: ann.token)
            let answer = try await server.send(
                credential.intent(#"{"type":"find","subject":"ann"}"#, [("Prefer", "wait=5")], to: "finder"))
            let state = try answer.json(Finder.State.self)
            #expect(state.found.map(\.id) == [ann.id])
            #expect(state.found.map(\.subject?.id) == ["ann"])
        }
    }

    @Test func `without a running server its calls fail`() async {
        await #expect(throws: StoreError.self) {
            _ = try await SessionDirectory().sessions(of: Subject(issuer: "", id: "ann"))
        }
    }

    @FeatureBuilder private static func finder(_ sessions: SessionDirectory) -> ServerContent {
        Finder(sessions: sessions)
    }
}
