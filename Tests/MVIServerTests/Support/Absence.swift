import Sessions
import Testing

@testable import MVIServer

/// The reason for which a session is not in memory when its client comes back. Clients cannot tell the reasons apart,
/// nor from a session that stayed.
enum Absence: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// The server was restarted on the same journal.
    case restart
    /// The server crashed: what it writes at its end is lost.
    case crash
    /// The session was not used for a while.
    case idle

    var testDescription: String { rawValue }

    /// Runs `before` on a server, then `after` on one that has none of its sessions in memory.
    func test<Value>(
        _ depth: Depth, _ change: (inout ServerSettings) -> Void = { _ in },
        before: (TestServer) async throws -> Value, after: (TestServer, Value) async throws -> Void
    ) async throws {
        let world = World()
        switch self {
        case .restart, .crash:
            let value = try await TestServer.run(depth, in: world, change) { server in
                let value = try await before(server)
                if self == .restart { await server.sessions.flush() }
                return value
            }
            try await TestServer.run(depth, in: world, change) { server in
                #expect(server.sessions.count == 0)
                try await after(server, value)
            }
        case .idle:
            // Before the labels expire.
            let settings: (inout ServerSettings) -> Void = {
                $0.passivateAfter = .seconds(30)
                change(&$0)
            }
            try await TestServer.run(depth, in: world, settings) { server in
                let value = try await before(server)
                while server.sessions.environment.openStreams > 0 { await Task.yield() }
                try server.leaveMemory()
                try await after(server, value)
            }
        }
    }
}
