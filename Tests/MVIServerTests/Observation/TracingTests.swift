import InMemoryTracing
import Locking
import MVI
import MVITesting
import TestSupport
import Testing
import Tracing

@testable import MVIServer
@testable import Sessions

@Suite("Traces of a request, through its turn and its append into launched work")
struct TracingTests {
    /// A feature with a call in launched work, an observer and an interceptor.
    private struct Caller: Feature {
        struct State: Codable, Equatable, Sendable { var count = 0 }
        enum Intent: Codable, Sendable { case call, fail }
        struct Broken: Error {}

        static let examples: [Intent] = [.call, .fail]
        let initialState = State()
        let seen: Lock<[String: ServiceContext?]>

        var middleware: Middleware<Caller> {
            Middleware(
                observers: [
                    { observation in
                        guard case .intent = observation.event else { return }
                        seen.withLock { $0["observer"] = observation.trace }
                    }
                ],
                interceptors: [
                    { intent, interception in
                        seen.withLock { $0["interceptor"] = interception.trace }
                        return intent
                    }
                ])
        }

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
            seen.withLock { $0["execute"] = ServiceContext.current }
            guard case .call = intent else { throw Broken() }
            turn.dispatch(.call)
            turn.launch(id: "ask") { work in
                seen.withLock { $0["work"] = ServiceContext.current }
                await work.dispatch(.call)
            }
        }

        func reduce(_ state: inout State, _ intent: Intent) { state.count += 1 }
    }

    private func run(
        _ depth: Depth, _ intent: String, traced: Bool = true,
        _ test: (InMemoryTracer, [String: ServiceContext?]) throws -> Void
    ) async throws {
        let tracer = InMemoryTracer()
        let seen = Lock<[String: ServiceContext?]>([:])
        try await TestServer.run(
            depth, observation: ServerObservation(tracer: traced ? tracer : nil),
            content: { _ in ServerContent(features: [ServedFeature(Caller(seen: seen))]) }
        ) { server in
            let session = try await server.session()
            tracer.clearAll(includingActive: true)
            _ = try await server.client.exchange(
                TestRequest(
                    "POST", "/features/caller/intents",
                    [
                        session.field, ("Content-Type", "application/json"), ("Prefer", "wait=10"),
                        ("in-memory-trace-id", "the-trace"), ("in-memory-span-id", "the-client"),
                    ], body: intent))
            let live = try server.live(session)
            while !live.queue.isIdle { await Task.yield() }
            // Observers run after the answer, on threads of their own.
            while !seen.withLock({ $0.keys.contains("observer") }) { await Task.yield() }
        }
        try test(tracer, seen.withLock { $0 })
    }

    @Test("the client's trace continues in the request, turn, append, work and its steps", arguments: Depth.allCases)
    func spans(_ depth: Depth) async throws {
        try await run(depth, #"{"type":"call"}"#) { tracer, seen in
            let spans = tracer.finishedSpans
            let request = try #require(spans.named("POST /features/{id}/intents").first)
            #expect(request.traceID == "the-trace")
            #expect(request.parentSpanID == "the-client")
            #expect(request.attributes.get("http.response.status_code") == .int64(200))
            let turn = try #require(spans.named("turn caller").children(of: request).first)
            #expect(turn.attributes.get("mvi.feature") == .string("caller"))
            #expect(!spans.named("append").children(of: request).isEmpty)
            let work = try #require(spans.named("work caller").first)
            #expect(work.parentSpanID == turn.spanID)
            let step = try #require(spans.named("turn caller").children(of: work).first)
            #expect(step.traceID == "the-trace")
            #expect(tracer.activeSpans.isEmpty)
            for place in ["interceptor", "execute", "work", "observer"] {
                let context = try #require(seen[place] ?? nil, "\(place) has no trace")
                #expect(context.inMemorySpanContext?.traceID == "the-trace")
            }
        }
    }

    /// Reads the fields of a tracer, and records their values.
    private struct Asking: Tracer {
        static let fields = ["traceparent", "tracestate", "baggage", "b3"]

        let inner = InMemoryTracer()
        let given: Lock<[String: String]>
        /// Called with the name of each span that begins.
        var began: @Sendable (String) -> Void = { _ in }

        func startSpan<Instant: TracerInstant>(
            _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
            at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
        ) -> InMemorySpan {
            began(operationName)
            return inner.startSpan(
                operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID,
                line: line)
        }

        func forceFlush() {}

        func extract<Carrier, Extract: Extractor>(
            _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
        ) where Extract.Carrier == Carrier {
            for field in Self.fields {
                let value = extractor.extract(key: field, from: carrier)
                given.withLock { $0[field] = value }
            }
        }

        func inject<Carrier, Inject: Injector>(
            _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
        ) where Inject.Carrier == Carrier {}
    }

    @Test(
        "a tracer gets well-formed fields, and baggage only of a trusted proxy", arguments: [false, true])
    func fields(isProxy: Bool) async throws {
        let given = Lock<[String: String]>([:])
        let settings: @Sendable (inout ServerSettings) -> Void = {
            if isProxy { $0.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 } }
        }
        try await TestServer.run(.memory, observation: ServerObservation(tracer: Asking(given: given)), settings) {
            server in
            func told(_ fields: [(name: String, value: String)]) async throws -> [String: String] {
                given.withLock { $0 = [:] }
                _ = try await server.client.exchange(TestRequest("GET", "/features", fields))
                return given.withLock { $0 }
            }
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let good = try await told([
                ("traceparent", parent), ("tracestate", "a=1"), ("baggage", "user=anna"), ("b3", "0"),
            ])
            #expect(good["traceparent"] == parent && good["tracestate"] == "a=1" && good["b3"] == "0")
            #expect(good["baggage"] == (isProxy ? "user=anna" : nil))
            #expect(try await told([("traceparent", parent.uppercased()), ("tracestate", "a=1")]).isEmpty)
            #expect(try await told([("tracestate", "a=1")]).isEmpty)
            let long = String(repeating: "x", count: 513)
            #expect(
                try await told([("traceparent", parent), ("tracestate", long), ("b3", long)]) == ["traceparent": parent]
            )
            #expect(try await told([("b3", "0"), ("B3", "1")]).isEmpty)
        }
    }

    @Test("a span begins under no lock of its session", .timeLimit(.minutes(1)))
    func unlocked() async throws {
        let (live, appends) = (Lock<Session?>(nil), Lock(0))
        let tracer = Asking(given: Lock([:])) { name in
            guard name == "append", let session = live.withLock({ $0 }) else { return }
            // Takes the lock.
            if !session.isEnded { appends.withLock { $0 += 1 } }
        }
        try await TestServer.run(
            .memory, observation: ServerObservation(tracer: tracer),
            content: { _ in ServerContent(features: [ServedFeature(Caller(seen: Lock([:])))]) }
        ) { server in
            let session = try await server.session()
            let request = TestRequest(
                "POST", "/features/caller/intents", [session.field, ("Content-Type", "application/json")],
                body: #"{"type":"call"}"#)
            _ = try await server.client.exchange(request)
            let found = try server.live(session)
            live.withLock { $0 = found }
            _ = try await server.client.exchange(request)
            #expect(appends.withLock { $0 } > 0)
        }
    }

    @Test("a thrown error is on its turn's span")
    func failure() async throws {
        try await run(.memory, #"{"type":"fail"}"#) { tracer, _ in
            let spans = tracer.finishedSpans
            let request = try #require(spans.named("POST /features/{id}/intents").first)
            let turn = try #require(spans.named("turn caller").children(of: request).first)
            #expect(turn.errors.first?.error is Caller.Broken)
            #expect(request.attributes.get("error.type") == .string("intent-failed"))
        }
    }

    @Test("without a tracer nothing is traced")
    func untraced() async throws {
        try await run(.memory, #"{"type":"call"}"#, traced: false) { tracer, seen in
            #expect(tracer.finishedSpans.isEmpty)
            for (place, context) in seen { #expect(context == nil, "\(place) has a trace") }
        }
    }
}

extension [FinishedInMemorySpan] {
    fileprivate func named(_ name: String) -> [FinishedInMemorySpan] { filter { $0.operationName == name } }

    fileprivate func children(of parent: FinishedInMemorySpan) -> [FinishedInMemorySpan] {
        filter { $0.parentSpanID == parent.spanID }
    }
}
