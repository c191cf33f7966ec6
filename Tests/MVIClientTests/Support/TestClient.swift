import MVITesting

@testable import MVIClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client whose time a test moves, and what it saw.
struct TestClient: Sendable {
    let server: RemoteServer
    let clock = ManualClock()
    let conditions = Collected<Condition>()
    let reports: Collected<String>
    private let listening: Task<Void, Never>

    init(
        _ transport: any Transport, wallTime: Duration = .zero,
        _ change: (inout RemoteServer.Options) -> Void = { _ in }
    ) {
        var options = RemoteServer.Options()
        options.network = .always
        let reports = Collected<String>()
        options.report = { reports.append($0) }
        change(&options)
        var settings = ConnectionSettings(options)
        settings.gatherTime = .zero
        self.reports = reports
        server = RemoteServer(
            options: options, settings: settings, transport: transport,
            time: Timekeeper(clock, wallTime: { wallTime }), random: { 0 })
        listening = Task { [server, conditions] in
            for await condition in server.conditions { conditions.append(condition) }
        }
    }

    /// Runs a test with a client of a real server, and closes it after.
    static func run(
        _ port: UInt16, losses: Int = 0, _ change: (inout RemoteServer.Options) -> Void = { _ in },
        _ test: @Sendable (TestClient, LossyTransport) async throws -> Void
    ) async throws {
        let transport = LossyTransport(transport(port), losses: losses)
        let client = TestClient(transport, change)
        defer { client.server.close() }
        try await test(client, transport)
    }

    static func transport(_ port: UInt16) -> URLSessionTransport {
        guard let url = URL(string: "http://127.0.0.1:\(port)") else { preconditionFailure("no URL") }
        return URLSessionTransport(base: url)
    }

    /// Everything that a store shows from now on.
    func watch<State: Sendable, Intent, Label: Sendable>(
        _ store: RemoteStore<State, Intent, Label>
    ) -> (states: Collected<State>, labels: Collected<Label>, tasks: [Task<Void, Never>]) {
        let (states, labels) = (Collected<State>(), Collected<Label>())
        let (stateStream, labelStream) = (store.states, store.labels)
        let tasks = [
            Task { for await state in stateStream { states.append(state) } },
            Task { for await label in labelStream { labels.append(label) } },
        ]
        return (states, labels, tasks)
    }
}
