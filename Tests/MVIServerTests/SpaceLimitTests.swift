import Foundation
import Locking
import Logging
import MVI
import MVITesting
import SessionJournal
import Testing

@testable import MVIServer

@Suite("The limit of shared stores", .timeLimit(.minutes(5)))
struct SpaceLimitTests {
    private func journal(_ change: (inout ServerSettings) -> Void) async throws -> any Journal {
        var settings = ServerSettings()
        settings.maxSpaces = 2
        change(&settings)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await FeatureServer(settings: settings) { Probe(gate: Gate()) }.openJournal(settings, logger)
    }

    @FeatureBuilder
    private static func content(_ gate: Gate) -> ServerContent {
        Shared { _ in Probe(gate: gate) }.allows(.everyone)
        Keyed { try Item(id: $0) }
    }

    @Test("--max-spaces are kept, apart from sessions, and those that exist are served", arguments: Depth.allCases)
    func limit(depth: Depth) async throws {
        let journal = try #require(try await journal { $0.journal = .memory } as? MemoryJournal)
        try await TestServer.run(depth, in: World(kept: journal), content: Self.content) { server in
            func add(_ key: String, _ session: Credential) async throws -> TestResponse {
                try await server.send(session.intent(#"{"type":"increment"}"#, to: "probe:\(key)"))
            }
            let sessions = [try await server.session(), try await server.session(), try await server.session()]
            for session in sessions {
                #expect(try await add("a", session).status == 202)
                #expect(try await add("b", session).status == 202)
                #expect(try await server.send(session.request("GET", "/features/item:7/state")).status == 200)
                let refused = try await add("c", session)
                #expect(refused.status == 507 && refused.problem == "too-many-spaces")
                #expect(try await server.send(session.request("GET", "/features/probe:d/state")).status == 507)
            }
            let state = try await server.send(sessions[0].request("GET", "/features/probe:a/state"))
            #expect(try state.json(Probe.State.self).count == 3)
        }
    }

    @Test("a journal in a folder has the same limit")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mvi-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let journal = try await journal { ($0.journal, $0.data) = (.sqlite, folder) }
        for (number, code) in [nil, nil, StoreError.Code.tooManySpaces].enumerated() {
            let name = try #require(SpaceName("probe:\(number)"))
            let record = SessionRecord(space: name, id: "s\(number)", epoch: "e", created: .zero)
            let made: Result<SessionKey, StoreError> = await awaitResult { done in
                journal.create(record, credential: nil) { done($0) }
            }
            if case .failure(let error) = made { #expect(error.code == code) } else { #expect(code == nil) }
        }
        await journal.close()
    }
}
