import Observation
import Testing

@testable import MVIClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// What the page shows of a screen, but for its views.
struct CounterState: Codable, Equatable, Sendable { var count = 0 }
enum CounterIntent: Codable, Sendable { case increment, add(amount: Int) }
enum CounterLabel: Codable, Equatable, Sendable { case milestone(count: Int) }
typealias CounterStore = RemoteStore<CounterState, CounterIntent, CounterLabel>

@Suite("The example of docs/swift-client.md", .timeLimit(.minutes(10)))
struct ExampleTests {
    /// The container view without its view: what it holds, and what its two tasks do.
    @MainActor
    @Observable
    final class CounterScreen {
        let counter: CounterStore
        var toast: String?

        init(server: RemoteServer) { counter = CounterStore("counter", on: server) }

        func watch() async { await counter.watch() }

        func showToasts() async {
            for await label in counter.labels {
                switch label {
                case .milestone(let count): toast = "\(count)!"
                }
            }
        }
    }

    @Test func `a screen shows the state, sends what is tapped and shows its toast`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, _ in try await Self.use(client.server) }
        }
    }

    @MainActor
    private static func use(_ server: RemoteServer) async throws {
        let screen = CounterScreen(server: server)
        let tasks = [Task { await screen.watch() }, Task { await screen.showToasts() }]
        await observed { screen.counter.state == CounterState() }
        let send: (CounterIntent) -> Void = { screen.counter.post($0) }
        send(.add(amount: 10))
        await observed { screen.counter.state?.count == 10 }
        try await screen.counter.send(.increment)
        await observed { screen.toast == "11!" }
        for task in tasks { task.cancel() }
    }

    @Test func `a tap is shown before its answer, and once after it`() async throws {
        try await LiveServer.run { server in
            try await TestClient.run(server.port) { client, _ in try await Self.predict(client.server) }
        }
    }

    @MainActor
    private static func predict(_ server: RemoteServer) async throws {
        let tally = CounterStore("tally", on: server) { state, intent in
            if case .add(let amount) = intent { state.count += amount }
        }
        let watching = Task { await tally.watch() }
        await observed { tally.state?.count == 0 }
        tally.post(.add(amount: 5))
        await observed { tally.state?.count == 5 }
        await observed { tally.confirmed?.count == 5 && tally.pending.isEmpty }
        #expect(tally.state?.count == 5)
        watching.cancel()
    }

    @Test func `the page has the types that are tested here`() throws {
        let root = #filePath.replacing(#/Tests\/MVIClientTests\/.*$/#, with: "")
        let page = try String(contentsOfFile: root + "docs/swift-client.md", encoding: .utf8)
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let declarations = source.split(separator: "\n").filter {
            $0.hasPrefix("struct Counter") || $0.hasPrefix("enum Counter") || $0.hasPrefix("typealias Counter")
        }
        #expect(declarations.count == 4)
        for declaration in declarations { #expect(page.contains(declaration)) }
    }
}
