import Locking
import MVI
import MVITesting
import SessionJournal
import Testing

@testable import MVIClient

@Suite("A client of a real server", .timeLimit(.minutes(10)))
struct ServerTests {
    @Test func `shows states, hands labels over, and sends intents`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, _ in
                let tally = client.server.store(of: Tally.self)
                let seen = client.watch(tally)
                await seen.states.until { $0.last?.count == 0 }
                let receipt = try await tally.send(.add(amount: 5), until: .shown)
                await seen.states.until { $0.last?.count == 5 }
                try await tally.send(.cheer)
                #expect(await seen.labels.atLeast(1) == [.cheered(count: 5)])
                #expect(receipt.version > 1 && !receipt.session.isEmpty && !receipt.intent.isEmpty)
                #expect(client.reports.all.isEmpty)
            }
        }
    }

    @Test func `a store that is disposed of shows a new one at its next use`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, transport in
                let tally = client.server.store(of: Tally.self)
                try await tally.send(.add(amount: 5))
                try await tally.dispose()
                let seen = client.watch(tally)
                await seen.states.until { $0.last?.count == 0 }
                // Also if there is none.
                try await tally.dispose()
                let disposals = transport.requests.all.filter { $0.method == "DELETE" }
                #expect(disposals.map(\.target) == Array(repeating: "/features/tally/state", count: 2))
            }
        }
    }

    @Test func `a refusal of the feature is an error with its code`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, _ in
                let tally = client.server.store(of: Tally.self)
                let error = await #expect(throws: RemoteError.self) { try await tally.send(.refuse) }
                #expect(error?.code == .refused && error?.mayHaveRun == false)
                #expect(error?.problem?.status == 422 && error?.problem?.code == "not-today")
                #expect(error?.message == "Not today.")
            }
        }
    }

    @Test func `intents of views run in their order`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, _ in
                let tally = client.server.store(of: Tally.self)
                let seen = client.watch(tally)
                await seen.states.atLeast(1)
                for _ in 0..<10 {
                    tally.post(.add(amount: 1))
                    tally.post(.cheer)
                }
                #expect(await seen.labels.atLeast(10) == (1...10).map { .cheered(count: $0) })
            }
        }
    }

    @Test func `an intent whose answer is lost runs once`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port, losses: 2) { client, transport in
                let tally = client.server.store(of: Tally.self)
                let seen = client.watch(tally)
                await seen.states.atLeast(1)
                async let sent = tally.send(.add(amount: 1))
                for losses in 1...2 {
                    await transport.lost.atLeast(losses)
                    client.server.foreground()
                }
                _ = try await sent
                let tries = transport.requests.all.filter { $0.target.hasSuffix("/intents") }
                #expect(tries.count == 3 && Set(tries.map { $0["Idempotency-Key"] }).count == 1)
                try await tally.send(.cheer)
                #expect(await seen.labels.atLeast(1) == [.cheered(count: 1)])
            }
        }
    }

    @Test func `a server that is started again shows the same session, and each label once`() async throws {
        let journal = MemoryJournal()
        let first = try LiveServer(journal)
        try await TestClient.run(first.port) { client, _ in
            let tally = client.server.store(of: Tally.self)
            let seen = client.watch(tally)
            try await tally.send(.add(amount: 3), until: .shown)
            try await tally.send(.cheer)
            await seen.labels.atLeast(1)
            await first.stop()
            await client.conditions.until { if case .reconnecting = $0.last { true } else { false } }
            // A click while the server is away.
            tally.post(.add(amount: 4))
            let second = try LiveServer(journal, after: first)
            client.server.foreground()
            await seen.states.until { $0.last?.count == 7 }
            try await tally.send(.cheer)
            #expect(await seen.labels.atLeast(2) == [.cheered(count: 3), .cheered(count: 7)])
            await second.stop()
        }
    }

    @Test func `a session that the server does not know any more is replaced`() async throws {
        let first = try LiveServer()
        try await TestClient.run(first.port) { client, transport in
            let tally = client.server.store(of: Tally.self)
            let seen = client.watch(tally)
            try await tally.send(.add(amount: 3), until: .shown)
            await first.stop()
            await client.conditions.until { if case .reconnecting = $0.last { true } else { false } }
            let second = try LiveServer(after: first)
            tally.post(.add(amount: 1))
            client.server.foreground()
            await seen.states.until { $0.last?.count == 1 }
            #expect(transport.requests.all.filter { $0.target == "/sessions" }.count == 2)
            await second.stop()
        }
    }

    @Test func `what one user left waiting for a session that is lost does not run as the next`() async throws {
        let first = try LiveServer()
        let user = Lock("ann")
        try await TestClient.run(first.port, { $0.identity = { user.withLock { $0 } } }) { client, transport in
            let tally = client.server.store(of: Tally.self)
            let secrets = client.watch(client.server.store(of: Secrets.self))
            client.server.signIn()
            await secrets.states.atLeast(1)
            await first.stop()
            await client.conditions.until { if case .reconnecting = $0.last { true } else { false } }
            let sent = Task { try await tally.send(.add(amount: 1_000)) }
            await transport.requests.until { $0.contains { $0.target.hasSuffix("/intents") } }
            user.withLock { $0 = "bob" }
            let second = try LiveServer(after: first)
            client.server.foreground()
            let error = await #expect(throws: RemoteError.self) { try await sent.value }
            #expect(error?.code == .sessionEnded)
            let seen = client.watch(tally)
            try await tally.send(.add(amount: 1), until: .shown)
            await seen.states.until { $0.last?.count == 1 }
            await second.stop()
        }
    }

    @Test func `the next start of the app goes on with the session that was kept`() async throws {
        let storage = MemoryCredentialStorage()
        try await LiveServer.run { server in
            for count in [2, 4] {
                try await TestClient.run(server.port, { $0.credentials = storage }) { client, _ in
                    let tally = client.server.store(of: Tally.self)
                    let seen = client.watch(tally)
                    try await tally.send(.add(amount: 2))
                    await seen.states.until { $0.last?.count == count }
                }
            }
        }
    }

    @Test(arguments: DeltaFormat.allCases)
    func `changes come as patches where the app asked for them`(format: DeltaFormat) async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port, { $0.delta = format }) { client, transport in
                let tally = client.server.store(of: Tally.self)
                let seen = client.watch(tally)
                await seen.states.until { $0.last?.count == 0 }
                for count in 1...5 {
                    try await tally.send(.add(amount: 1), until: .shown)
                    await seen.states.until { $0.last == Tally.State(count: count) }
                }
                let text = String(decoding: transport.received.all.joined(), as: UTF8.self)
                #expect(text.components(of: "event: patch") >= 5)
                #expect(client.reports.all.isEmpty)
            }
        }
    }

    @Test func `signing in shows what was denied, with the stores as they were`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port, { $0.identity = { "anna" } }) { client, _ in
                let (tally, secrets) = (client.server.store(of: Tally.self), client.server.store(of: Secrets.self))
                let seen = client.watch(tally)
                try await tally.send(.add(amount: 3), until: .shown)
                let hidden = client.watch(secrets)
                await observed { secrets.availability == .denied }
                client.server.signIn()
                #expect(await hidden.states.atLeast(1) == [Secrets.State()])
                try await tally.send(.add(amount: 1), until: .shown)
                await seen.states.until { $0.last?.count == 4 }
            }
        }
    }

    @Test func `a renewed session is another one`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, _ in
                let tally = client.server.store(of: Tally.self)
                let seen = client.watch(tally)
                let before = try await tally.send(.add(amount: 3), until: .shown)
                client.server.renewSession()
                await seen.states.until { $0.last?.count == 0 }
                let after = try await tally.send(.add(amount: 1))
                #expect(after.session != before.session)
            }
        }
    }

    @Test func `a store that nobody looks at is not in the stream`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, transport in
                let tally = client.server.store(of: Tally.self)
                let watching = Task { await tally.watch() }
                await client.conditions.until { $0.last == .live }
                watching.cancel()
                await watching.value
                await client.conditions.until { $0.last == .idle }
                #expect(transport.requests.all.filter { $0.target.hasPrefix("/events") }.count == 1)
            }
        }
    }

    @Test func `a server that is not there is tried again`() async throws {
        let server = try LiveServer()
        let port = server.port
        await server.stop()
        try await TestClient.run(port) { client, _ in
            let seen = client.watch(client.server.store(of: Tally.self))
            await client.conditions.until { if case .reconnecting = $0.last { true } else { false } }
            let second = try LiveServer(after: server)
            client.server.foreground()
            await seen.states.atLeast(1)
            await second.stop()
        }
    }
}

extension String {
    /// Returns the number of occurrences of a text.
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
