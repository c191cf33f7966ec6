import Dispatch
import Locking
import ServiceLifecycle

/// Tells systemd that the server is alive while its parts answer. systemd ends and restarts a server that has not said so
/// for the unit's `WatchdogSec`.
struct SystemdWatchdog: Service {
    /// Nil where there is no systemd: the service does nothing.
    let notifier: SystemdNotifier?
    let monitor: PartsMonitor

    /// The time between two looks at the parts: as long as the monitor's, and half of what systemd waits, as
    /// sd_watchdog_enabled(3) recommends, where that is shorter.
    static func interval(_ watchdogTime: Duration?) -> Duration {
        min(watchdogTime.map { $0 / 2 } ?? .seconds(1), .seconds(1))
    }

    /// On a thread of its own, as the monitor: the tasks' executor is one of the parts.
    func run() async throws {
        guard let notifier else {
            try? await gracefulShutdown()
            return
        }
        let end = DispatchSemaphore(value: 0)
        let interval = Self.interval(notifier.watchdogTime)
        let nanoseconds = Int(interval / .nanoseconds(1))
        let thread = SystemThread { [monitor] in
            repeat {
                notifier.watch(silent: monitor.silent)
            } while end.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .timedOut
        }
        thread?.detach()
        try? await gracefulShutdown()
        end.signal()
    }
}
