import Locking
import Logging
import MVI
import MVITesting
import TestSupport
import Testing

@testable import MVIServer

@Suite("47: logging")
struct LoggingTests {
    /// Records lines.
    struct Recorder: LogHandler {
        struct Line: Sendable, Equatable {
            var level: Logger.Level
            var kind: String
            var value: String?
            var intent: String?
            var feature: String?
            var intentName: String?
        }

        let lines: Lock<[Line]>
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            func text(_ key: String) -> String? {
                event.metadata?[key].map { "\($0)" }
            }
            let line = Line(
                level: event.level, kind: event.message.description, value: text("value"), intent: text("intent"),
                feature: text("feature"), intentName: text("intentName"))
            lines.withLock { $0.append(line) }
        }
    }

    private func lines(
        level: Logger.Level = .trace, valueLength: Int = 200, _ intents: [Probe.Intent]
    ) async -> [Recorder.Line] {
        let lines = Lock<[Recorder.Line]>([])
        var logger = Logger(label: "test", factory: { _ in Recorder(lines: lines) })
        logger.logLevel = level
        let store = HostedStore(
            Probe(gate: Gate()), middleware: [LoggingMiddleware(logger: logger, valueLength: valueLength)])
        store.start()
        for (index, intent) in intents.enumerated() { _ = try? await store.send(intent, id: IntentID("i\(index)")) }
        store.dispose()
        await store.observersCaughtUp()
        return lines.withLock { $0 }
    }

    @Test("one line an event, in order, with kind, value, intent and feature")
    func order() async {
        let lines = await lines([.add(amount: 5), .say(text: "two\nlines"), .secret, .fail])
        #expect(
            lines.map(\.kind) == [
                "started", "intent", "message", "intent", "label", "refused", "intent", "failed", "ended",
            ])
        #expect(lines[1].value == #"{"type":"add","amount":5}"#)
        #expect(lines[1].intent == "i0" && lines[1].feature == "probe" && lines[1].level == .debug)
        #expect(lines[4].value == #"{"type":"said","text":"two\nlines"}"#)
        #expect(lines[5].level == .info)
        #expect(lines[7].value?.hasPrefix("\"execute of fail: ") == true)
        #expect(lines.allSatisfy { $0.value?.contains("\n") != true })
    }

    @Test("values are cut to a length, and 0 hides them")
    func length() async {
        let cut = await lines(valueLength: 10, [.say(text: "something long")])
        #expect(cut.filter { $0.kind == "intent" }.map(\.value) == [#"{"type":"s…"#])
        let hidden = await lines(valueLength: 0, [.say(text: "a secret"), .secret, .fail])
        #expect(hidden.count == 7)
        // The initial state of a store is not secret.
        #expect(hidden.filter { $0.kind != "started" }.allSatisfy { $0.value == nil })
    }

    /// A message that cannot be encoded.
    private struct Loader: Feature {
        struct Failed: Sendable { var text: String }
        typealias Message = Failed
        enum Intent: Codable, Sendable { case load }
        static let examples: [Intent] = [.load]
        let initialState = 0
        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(Failed(text: "two\nlines")) }
        func reduce(_ state: inout Int, _ message: Failed) { state += 1 }
    }

    @Test("a value that cannot be encoded is described in quotes")
    func notEncodable() async throws {
        let lines = Lock<[Recorder.Line]>([])
        var logger = Logger(label: "test", factory: { _ in Recorder(lines: lines) })
        logger.logLevel = .trace
        let store = HostedStore(Loader(), middleware: [LoggingMiddleware(logger: logger)])
        store.start()
        try await store.send(.load)
        await store.observersCaughtUp()
        #expect(lines.withLock { $0.last?.value } == #""Failed(text: \"two\\nlines\")""#)
        store.dispose()
    }

    @Test("a logger that would not show the lines costs nothing")
    func off() async {
        #expect(await lines(level: .info, [.add(amount: 5), .secret]).isEmpty)
    }

    @Test("a failing journal is logged, and work that a session's end cancels is not")
    func commitFailures() {
        let lines = Lock<[Recorder.Line]>([])
        let logger = Logger(label: "test", factory: { _ in Recorder(lines: lines) })
        StoreReportLog.log(.commitFailed(StoreError(.gone, "gone"), in: StorePlace(instance: "probe")), logger)
        #expect(lines.withLock { $0.isEmpty })
        StoreReportLog.log(.commitFailed(StoreError(.full, "no room"), in: StorePlace(instance: "probe")), logger)
        #expect(lines.withLock { $0.map(\.level) } == [.error])
    }

    @Test("41: a failure is logged with the name of its intent's case, and without its values")
    func failures() {
        let lines = Lock<[Recorder.Line]>([])
        let logger = Logger(label: "test", factory: { _ in Recorder(lines: lines) })
        for intent in [Probe.Intent.say(text: "a secret"), nil] {
            let failure = Failure(
                stage: .execute, intentID: IntentID("i"), intent: intent, error: StoreError(.full, "no room"))
            StoreReportLog.log(.failure(failure, in: StorePlace(instance: "probe", session: "s")), logger)
        }
        #expect(lines.withLock { $0.map(\.intentName) } == ["say", nil])
        #expect(lines.withLock { $0.allSatisfy { $0.intent == "i" && $0.level == .error } })
    }

    @Test("44: the count of missed observations is logged when it grows, and only then")
    func missedObservations() {
        let lines = Lock<[Recorder.Line]>([])
        var log = DiagnosticsLog(Logger(label: "test", factory: { _ in Recorder(lines: lines) }))
        for missed in [0, 3, 3, 1, 2] {
            var diagnostics = StoreDiagnostics()
            diagnostics.missedObservations = missed
            log.note(diagnostics)
        }
        let seen = lines.withLock { $0 }
        #expect(seen.count == 2)
        #expect(seen.allSatisfy { $0.level == .warning && $0.kind.contains("missed") })
    }
}
