import Locking
import Logging
import MVITesting
import ServiceLifecycle
import TestSupport
import Testing

@testable import MVIServer

@Suite("Hung parts, and a stop that takes too long", .timeLimit(.minutes(10)))
struct SelfHealingTests {
    /// A part that answers when the test says so.
    private final class WedgedPart: Sendable {
        private let answers = Lock<[@Sendable () -> Void]>([])

        var part: PartsMonitor.Part {
            PartsMonitor.Part(name: "the pump") { [answers] answer in answers.withLock { $0.append(answer) } }
        }

        var timesAsked: Int { answers.withLock { $0.count } }

        func answer() {
            let last = answers.withLock { $0.last }
            last?()
        }
    }

    @Test func `a part that has not answered for three seconds is named, until it answers`() {
        let (wedged, now) = (WedgedPart(), Lock(Duration.seconds(100)))
        let monitor = PartsMonitor(
            [wedged.part, PartsMonitor.Part(name: "the other") { $0() }], time: { now.withLock { $0 } })
        #expect(monitor.silent == [])
        monitor.ask()
        #expect(monitor.silent == [])
        now.withLock { $0 += .milliseconds(2_999) }
        monitor.ask()
        #expect(monitor.silent == [])
        now.withLock { $0 += .milliseconds(1) }
        #expect(monitor.silent == ["the pump"])
        // It is not asked again before it has answered.
        #expect(wedged.timesAsked == 1)
        wedged.answer()
        #expect(monitor.silent == [])
        monitor.ask()
        #expect(wedged.timesAsked == 2)
    }

    @Test(arguments: Depth.allCases)
    func `a server is not ready while its journal does not answer`(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            #expect(try await server.send(TestRequest("GET", "/health/ready")).status == 200)
            server.journal.holdSecrets()
            let monitor = server.assembly.monitor
            monitor.ask()
            while monitor.unanswered(for: .zero) != ["the journal's reader"] { await Task.yield() }
            server.time.advance(by: .seconds(3))
            let refused = try await server.send(TestRequest("GET", "/health/ready"))
            #expect(refused.problem == "not-ready" && refused.text.contains("the journal's reader"))
            #expect(try await server.send(TestRequest("GET", "/health/live")).status == 200)
            server.journal.releaseSecrets()
            #expect(try await server.send(TestRequest("GET", "/health/ready")).status == 200)
        }
    }

    @Test func `every part of a server that runs answers`() async throws {
        try await TestServer.run(.socket) { server in
            let monitor = server.assembly.monitor
            monitor.ask()
            while monitor.unanswered(for: .zero) != [] { await Task.yield() }
            server.time.advance(by: .seconds(10))
            #expect(monitor.silent == [])
        }
    }

    @Test func `at the end of the grace period the process ends, and logs the parts that it waited for`() async throws {
        let (lines, code) = (Lock<[String]>([]), Lock<Int32?>(nil))
        let logger = Logger(label: "test") { _ in NotingLogHandler(lines: lines) }
        let ended = Gate()
        let watchdog = StopWatchdog(grace: .milliseconds(50), logger: logger) {
            "3 requests"
        } end: { status in
            code.withLock { $0 = status }
            ended.open()
        }
        let gate = Gate()
        let service = watchdog.watched(Hanging(gate: gate), "the pump")
        let running = Task { try await service.run() }
        while !watchdog.waitsFor("the pump") { await Task.yield() }
        watchdog.start()
        try await ended.wait()
        #expect(code.withLock { $0 } == 0)
        let line = try #require(lines.withLock { $0.first })
        #expect(line.contains("the pump") && line.contains("3 requests"))
        gate.open()
        try await running.value
        #expect(!watchdog.waitsFor("the pump"))
    }

    @Test func `a second signal ends the process at once, and within a second it is part of the first`() {
        let (codes, time) = (Lock<[Int32]>([]), Lock<Duration>(.seconds(5)))
        let watchdog = StopWatchdog(
            grace: .seconds(100), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, details: { "" },
            now: { time.withLock { $0 } }, end: { status in codes.withLock { $0.append(status) } })
        for later in [Duration.zero, .milliseconds(20), .milliseconds(999)] {
            time.withLock { $0 = .seconds(5) + later }
            watchdog.heed()
            #expect(codes.withLock { $0 } == [])
        }
        time.withLock { $0 = .seconds(6) }
        watchdog.heed()
        #expect(codes.withLock { $0 } == [1])
        watchdog.finish()
    }

    @Test func `a stop in time is not interrupted`() async throws {
        let code = Lock<Int32?>(nil)
        let watchdog = StopWatchdog(
            grace: .milliseconds(50), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, details: { "" },
            end: { status in code.withLock { $0 = status } })
        watchdog.finish()
        // It finds at once that nothing is left.
        await withCheckedContinuation { continuation in watchdog.start { continuation.resume() } }
        #expect(code.withLock { $0 } == nil)
    }
}

/// Runs until its gate is open, also if it is canceled.
private struct Hanging: Service {
    let gate: Gate

    func run() async throws { try await gate.wait() }
}

/// Records messages with their metadata.
private struct NotingLogHandler: LogHandler {
    let lines: Lock<[String]>
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
    }
}
