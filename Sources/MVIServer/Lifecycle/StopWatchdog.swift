import Dispatch
import Locking
import Logging
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Ends the process when the grace is over and something is still not: a handler that blocks, a disk that hangs. What was
/// acknowledged is kept already, so that nothing is lost by it.
///
/// A second signal ends it at once.
final class StopWatchdog: Sendable {
    private struct State {
        /// The running parts in the order of their start.
        var parts: [String] = []
        /// As long as they are here they are heeded.
        var signals: [any DispatchSourceSignal] = []
        var wasSignalled = false
        var hasStarted = false
    }

    private let grace: Duration
    private let logger: Logger
    private let state = Lock(State())
    private let isOver = DispatchSemaphore(value: 0)
    /// Returns a short description of open work.
    private let details: @Sendable () -> String
    private let end: @Sendable (Int32) -> Void

    /// - Parameter end: ends the process with a code; a test has it note that.
    init(
        grace: Duration, logger: Logger, details: @escaping @Sendable () -> String,
        end: @escaping @Sendable (Int32) -> Void = { _exit($0) }
    ) {
        (self.grace, self.logger, self.details, self.end) = (grace, logger, details, end)
    }

    /// A service whose end is waited for under a name.
    func watched(_ service: any Service, _ name: String) -> any Service { WatchedService(service, name, self) }

    /// The service that begins the count: to be stopped first.
    var service: any Service { Beginning(self) }

    /// Nothing is left to wait for.
    func finish() {
        isOver.signal()
        let signals = state.withLock { state in
            defer { state.signals = [] }
            return state.signals
        }
        for signal in signals { signal.cancel() }
    }

    /// Returns true if a part of that name runs.
    func waitsFor(_ name: String) -> Bool { state.withLock { $0.parts.contains(name) } }

    fileprivate func began(_ name: String) { state.withLock { $0.parts.append(name) } }

    fileprivate func ended(_ name: String) {
        state.withLock { state in
            if let index = state.parts.firstIndex(of: name) { state.parts.remove(at: index) }
        }
    }

    /// Has the first SIGTERM or SIGINT begin the count, and the second one end the process. By signal sources of its own:
    /// what hangs may be every thread that tasks run on, and then no task hears of the signal.
    func install() {
        let sources = [SIGTERM, SIGINT].map { number in
            // The source hears of it all the same (signal(7) ends the process otherwise).
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "stop signals"))
            source.setEventHandler { [self] in heed() }
            source.resume()
            return source
        }
        state.withLock { $0.signals = sources }
    }

    func heed() {
        let isFirst = state.withLock { state in
            defer { state.wasSignalled = true }
            return !state.wasSignalled
        }
        if isFirst { return start() }
        logger.error("A second signal: the process ends at once. What was acknowledged is kept.")
        end(1)
    }

    /// Counts the grace down on a thread of its own, once.
    ///
    /// - Parameter over: called when the count is over, if the process goes on.
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
                "The grace is over: the process ends without waiting any longer. What was acknowledged is kept.",
                metadata: ["waited-for": "\(parts.joined(separator: ", "))", "open": "\(details())"])
            end(0)
        }
        thread?.detach()
    }

    /// Begins the count also where no signal did: the group was told to stop, or a service failed.
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
