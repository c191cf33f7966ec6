import MVI
import MVITesting
import PrometheusMetrics
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("Metrics of a server")
struct MetricsTests {
    private let registry = PrometheusRegistry()

    /// The non-zero series, without buckets.
    private var counted: [String: Double] {
        var counted: [String: Double] = [:]
        for line in registry.text.split(separator: "\n") where !line.hasPrefix("#") && !line.contains("_bucket") {
            let parts = line.split(separator: " ")
            if let value = Double(parts[1]), value != 0 { counted[String(parts[0])] = value }
        }
        return counted
    }

    private func post(_ server: TestServer, _ session: Credential, _ body: String, key: String? = nil) async throws
        -> TestResponse
    {
        var fields = [session.field, ("Content-Type", "application/json")]
        if let key { fields.append(("Idempotency-Key", key)) }
        return try await server.send(TestRequest("POST", "/features/probe/intents", fields, body: body))
    }

    @Test func `an intent of code outside the features is counted by outcome`() async throws {
        let directory = SessionDirectory()
        try await TestServer.run(.memory, directory: directory, observation: ServerObservation(registry)) { server in
            let session = try await server.session()
            // There is none until a session is used.
            _ = try await post(server, session, #"{"type":"increment"}"#)
            let id = session.id
            for _ in 0..<2 { try await directory.send(.increment, to: Probe.self, session: id) }
            for _ in 0..<2 { try await directory.send(.increment, to: Probe.self, session: id, once: "a") }
            await #expect(throws: StoreError.self) { try await directory.send(.secret, to: Probe.self, session: id) }
            let counted = counted
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="committed"}"#] == 4)
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="repeated"}"#] == 1)
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="refused"}"#] == 1)
            #expect(counted[#"mvi_turns_total{feature="probe",kind="other"}"#] == 3)
        }
    }

    @Test("intents are counted by outcome, and answers by status and problem", arguments: Depth.allCases)
    func intents(_ depth: Depth) async throws {
        try await TestServer.run(depth, observation: ServerObservation(registry)) { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await post(server, session, #"{"type":"increment"}"#) }
            for _ in 0..<2 { _ = try await post(server, session, #"{"type":"increment"}"#, key: "\"k\"") }
            _ = try await post(server, session, #"{"type":"secret"}"#)
            _ = try await post(server, session, #"{"type":"unknown"}"#)
            _ = try await post(server, session, #"{"type":"fail"}"#)
            let counted = counted
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="committed"}"#] == 4)
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="repeated"}"#] == 1)
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="refused"}"#] == 1)
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="invalid"}"#] == 1)
            #expect(counted[#"mvi_intents_total{feature="probe",outcome="failed"}"#] == 1)
            #expect(counted[#"mvi_failures_total{feature="probe",stage="execute"}"#] == 1)
            #expect(counted[#"mvi_turns_total{feature="probe",kind="intent"}"#] == 4)
            #expect(counted[#"mvi_turns_total{feature="probe",kind="bootstrap"}"#] == 1)
            #expect(counted[#"mvi_answers_total{problem="none",status="201"}"#] == 1)
            #expect(counted[#"mvi_answers_total{problem="none",status="202"}"#] == 5)
            #expect(counted[#"mvi_answers_total{problem="forbidden",status="403"}"#] == 1)
            #expect(counted[#"mvi_answers_total{problem="invalid-intent",status="422"}"#] == 1)
            #expect(counted[#"mvi_answers_total{problem="intent-failed",status="500"}"#] == 1)
            #expect(counted[#"mvi_request_duration_seconds_count{route="sendIntent"}"#] == 8)
            #expect(counted["mvi_journal_append_duration_seconds_count"] == counted[Self.committed])
            #expect(counted["mvi_stores_in_memory"] == 1)
            #expect(counted["mvi_sessions_in_memory"] == 1)
            #expect(counted["mvi_ready"] == 1)
        }
    }

    private static let committed = #"mvi_journal_appends_total{result="committed"}"#

    @Test("streams, their events and their ends are counted; a state that a slow one missed is conflated")
    func streams() async throws {
        try await TestServer.run(.memory, observation: ServerObservation(registry)) { server in
            let session = try await server.session()
            let live = try server.live(session)
            _ = try await post(server, session, #"{"type":"say","text":"a"}"#)
            let stream = try await live.stream(showing: "probe")
            stream.opened(NoWaker())
            _ = stream.nextStep()
            for _ in 0..<3 { _ = try await post(server, session, #"{"type":"increment"}"#) }
            _ = stream.nextStep()
            _ = stream.ping()
            stream.closed(.left)
            let second = try await live.stream(showing: "probe")
            second.goAway(.drain)
            _ = second.nextStep()
            _ = second.nextStep()
            second.closed()
            let counted = counted
            #expect(counted["mvi_streams_opened_total"] == 2)
            #expect(counted[#"mvi_streams_ended_total{reason="client-left"}"#] == 1)
            #expect(counted[#"mvi_streams_ended_total{reason="drain"}"#] == 1)
            #expect(counted[#"mvi_events_total{type="label"}"#] == 1)
            #expect(counted[#"mvi_events_total{type="state"}"#] == 3)
            #expect(counted[#"mvi_events_total{type="ping"}"#] == 1)
            #expect(counted["mvi_conflations_total"] == 2)
        }
    }

    @Test("a reached limit is counted, also if a stream is postponed")
    func limits() async throws {
        try await TestServer.run(.memory, observation: ServerObservation(registry), { $0.maxStreams = 1 }) { server in
            let session = try await server.session()
            let live = try server.live(session)
            let stream = try await live.stream(showing: "probe")
            let answer = try await server.send(TestRequest("GET", "/features/probe/events", [session.field]))
            #expect(answer.text.contains("goaway"))
            #expect(counted[#"mvi_limits_reached_total{limit="too-many-streams"}"#] == 1)
            stream.closed()
        }
    }

    @Test("/metrics is on the admin port, in Prometheus' text, and on no other")
    func endpoint() async throws {
        try await AdminPort.run(.socket) { port in
            let answer = try await port.send("GET", "/metrics")
            #expect(answer.status == 200)
            #expect(answer["content-type"] == PrometheusRegistry.mediaType)
            #expect(answer.text.contains("# TYPE mvi_answers_total counter\n"))
            #expect(try await port.send("GET", "/metrics", token: nil).status == 401)
            #expect(try await port.server.send(TestRequest("GET", "/metrics")).status == 404)
        }
    }

    @Test("every metric of a server is described, and is in docs/observation.md")
    func catalogue() async throws {
        try await TestServer.run(.memory, observation: ServerObservation(registry)) { server in
            let text = registry.text
            let names = Set(
                text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                    .map { String($0.split(separator: " ")[2]) })
            let described = Set(MetricsCatalogue.all.map(\.name))
            #expect(names.subtracting(described) == [])
            // The others appear at the first use of a feature or of a journal with transactions.
            #expect(described.subtracting(names).isEmpty)
            let page = try Repository.text("docs/observation.md")
            for name in described.union(MetricsCatalogue.ofNodes.map(\.name)) {
                #expect(page.contains("`\(name)`"), "docs/observation.md lacks \(name)")
            }
        }
    }

    @Test func `a server that shares its journal has the metrics of a node`() async throws {
        let kept = MemoryJournal()
        let journal = NodeJournal(kept, NodeJournal.Cluster())
        let time = ManualTime()
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([]), journal: journal, time: time.source(monotonicStart: .zero)))
        let gauges = NodeGauges(registry)
        func update() throws { gauges.update(try #require(table.nodeFigures)) }
        try update()
        #expect(counted.isEmpty)
        table.beat(at: "10.0.0.1:8080")
        try update()
        #expect(counted == ["mvi_node_lease_held": 1])
        journal.cutOff(true)
        time.advance(by: .seconds(11))
        table.beat(at: "10.0.0.1:8080")
        for _ in 0..<2 { try update() }
        #expect(counted == [#"mvi_node_fences_total{reason="lease-expired"}"#: 1])
    }

    @Test func `faults of a node and its journal are described and counted once`() {
        var figures = NodeFigures()
        (figures.holdsLease, figures.sessionsOwned, figures.leaseExpiries, figures.evictions) = (true, 7, 2, 3)
        figures.clockDifference = .milliseconds(-1_500)
        figures.journal = JournalFigures(
            connectionsLost: 4, groupsSplit: 5, newsDelays: 6, areNewsLate: true, oldestTransaction: .seconds(90))
        let gauges = NodeGauges(registry)
        _ = ForwardMetrics(registry)
        for _ in 0..<2 { gauges.update(figures) }
        #expect(
            counted == [
                "mvi_node_lease_held": 1, "mvi_node_sessions_owned": 7,
                #"mvi_node_fences_total{reason="lease-expired"}"#: 2,
                #"mvi_node_fences_total{reason="forgotten"}"#: 3, "mvi_node_clock_difference_seconds": -1.5,
                "mvi_journal_news_late": 1, "mvi_journal_news_delays_total": 6,
                "mvi_journal_connections_lost_total": 4, "mvi_journal_groups_split_total": 5,
                "mvi_journal_oldest_transaction_seconds": 90,
            ])
        let names = Set(
            registry.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                .map { String($0.split(separator: " ")[2]) })
        #expect(names == Set(MetricsCatalogue.ofNodes.map(\.name)))
    }
}

private final class NoWaker: StreamWaker {
    func wake() {}
}

extension Session {
    /// A stream of one feature without a connection.
    fileprivate func stream(showing name: String) async throws -> SessionStream {
        let id = try #require(FeatureID(name))
        return try await withCheckedThrowingContinuation { continuation in
            openStream(.features([id]), from: .unspecified) { continuation.resume(with: $0) }
        }
    }
}
