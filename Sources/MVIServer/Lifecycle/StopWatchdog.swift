import Dispatch
import Locking
import Logging
import ServiceLifecycle
import Sessions

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Ends the process if a part has not stopped when the grace period is over, for example a blocking handler or a hung
/// disk. Acknowledged changes are already stored, so nothing is lost.
///
/// A second signal ends the process at once. Within a second it belongs to the first one: terminals and supervisors
/// signal a group and a process.
final class StopWatchdog: Sendable {
    private struct State {
        /// The running parts, in the order of their start.
        var parts: [String] = []
        /// The signal sources, which have to be kept alive.
        var signals: [any DispatchSourceSignal] = []
        /// The time of the first signal.
        var signalled: Duration?
        var hasStarted = false
    }

    /// The time in which further signals are part of the first one.
    static let repetition: Duration = .seconds(1)

    /// True if SIGHUP, which comes when a terminal is closed, stops the server. False if the process was started to ignore
    /// it, as by `nohup`.
    static let heedsHangUp = !ProcessState.ignores(SIGHUP)

    private let grace: Duration
    private let logger: Logger
    private let state = Lock(State())
    private let isOver = DispatchSemaphore(value: 0)
    /// Describes the open work at the end.
    private let details: @Sendable () -> String
    private let now: @Sendable () -> Duration
    private let end: @Sendable (Int32) -> Void

    /// - Parameters:
    ///   - now: the time since any moment; replaced by tests.
    ///   - end: ends the process with a code; replaced by tests.
    init(
        grace: Duration, logger: Logger, details: @escaping @Sendable () -> String,
        now: @escaping @Sendable () -> Duration = { TimeSource.system.monotonic() },
        end: @escaping @Sendable (Int32) -> Void = { code in
            LogOutput.standard.flush(within: LogOutput.flushTime)
            _exit(code)
        }
    ) {
        (self.grace, self.logger, self.details, self.now, self.end) = (grace, logger, details, now, end)
    }

    /// Wraps a service to wait for its end under a name.
    func watched(_ service: any Service, _ name: String) -> any Service { WatchedService(service, name, self) }

    /// The service that starts the countdown; it has to be stopped first.
    var service: any Service { Beginning(self) }

    /// Ends the countdown: everything has stopped.
    func finish() {
        isOver.signal()
        let signals = state.withLock { state in
            defer { state.signals = [] }
            return state.signals
        }
        for signal in signals { signal.cancel() }
    }

    /// Returns true if a part with a name runs.
    func waitsFor(_ name: String) -> Bool { state.withLock { $0.parts.contains(name) } }

    fileprivate func began(_ name: String) { state.withLock { $0.parts.append(name) } }

    fileprivate func ended(_ name: String) {
        state.withLock { state in
            if let index = state.parts.firstIndex(of: name) { state.parts.remove(at: index) }
        }
    }

    /// Starts the countdown at the first signal and ends the process at the second. Uses its own signal sources: a hang
    /// may block every thread that runs tasks.
    func install() {
        let queue = DispatchQueue(label: "stop signals")
        let sources = ([SIGTERM, SIGINT] + (Self.heedsHangUp ? [SIGHUP] : [])).map { number in
            // The source still receives the signal; otherwise it would end the process (signal(7)).
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [self] in heed() }
            source.resume()
            return source
        }
        state.withLock { $0.signals = sources }
    }

    func heed() {
        let now = now()
        let first = state.withLock { state in
            defer { state.signalled = state.signalled ?? now }
            return state.signalled
        }
        guard let first else { return start() }
        guard now - first >= Self.repetition else { return }
        logger.error("A second signal: the process ends at once. Acknowledged changes are stored.")
        end(1)
    }

    /// Starts the countdown of the grace period on its own thread, once.
    ///
    /// - Parameter over: called at its end, if the process continues.
    func start(over: @escaping @Sendable () -> Void = {}) {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { return }
        let limit = max(grace - min(grace / 10, .milliseconds(500)), .milliseconds(1))
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        let thread = SystemThread { [self] in
            guard isOver.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .timedOut else { return over() }
            let parts = state.withLock { $0.parts }
            logger.error(
                "The grace period is over: the process ends now. Acknowledged changes are stored.",
                metadata: ["waited-for": "\(parts.joined(separator: ", "))", "open": "\(details())"])
            end(0)
        }
        thread?.detach()
    }

    /// Starts the countdown without a signal: the group was stopped, or a service failed.
    private struct Beginning: Service {
        let watchdog: StopWatchdog

        init(_ watchdog: StopWatchdog) { self.watchdog = watchdog }

        func run() async throws {
            try? await gracefulShutdown()
            watchdog.start()
        }
    }

    private struct WatchedService: Service {
        let service: any Service
        let name: String
        let watchdog: StopWatchdog

        init(_ service: any Service, _ name: String, _ watchdog: StopWatchdog) {
            (self.service, self.name, self.watchdog) = (service, name, watchdog)
        }

        func run() async throws {
            watchdog.began(name)
            defer { watchdog.ended(name) }
            try await service.run()
        }
    }
}
