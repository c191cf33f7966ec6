import Dispatch
import Locking
import ServiceLifecycle

/// Notifies systemd that the server is alive while its parts answer. systemd restarts a server without a message within
/// the unit's `WatchdogSec`.
struct SystemdWatchdog: Service {
    /// Nil without systemd: the service then does nothing.
    let notifier: SystemdNotifier?
    let monitor: PartsMonitor

    /// The time between two checks: the monitor's, or half of systemd's timeout if that is shorter, as
    /// sd_watchdog_enabled(3) recommends.
    static func interval(_ watchdogTime: Duration?) -> Duration {
        min(watchdogTime.map { $0 / 2 } ?? .seconds(1), .seconds(1))
    }

    /// Runs on a thread of its own like the monitor: the executor of tasks is one of the parts.
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
