#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import Locking
import Logging
import MicroHTTP

/// Notifies systemd that the server serves, that it stops, and that its parts answer, for a unit with `Type=notify`.
///
/// Each message is one datagram with lines of the form `NAME=value`:
/// [sd_notify(3)](https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html). A failure to send is logged,
/// and the server continues.
final class SystemdNotifier: Sendable {
    private struct State {
        /// The status line of `systemctl status` while all parts answer.
        var status = ""
        /// The parts that did not answer at the last check.
        var silent: [String] = []
        /// True if the last message failed: the next failure is not logged.
        var hasFailed = false
    }

    /// The watchdog's timeout; nil if systemd wants no watchdog messages.
    let watchdogTime: Duration?
    private let address: LocalDatagramAddress
    private let logger: Logger
    private let state = Lock(State())

    /// Creates a notifier. Nil without `NOTIFY_SOCKET`, and with a malformed one, which is logged.
    ///
    /// - Parameters:
    ///   - process: the id of this process. `WATCHDOG_PID` names the process of the watchdog
    ///     ([sd_watchdog_enabled(3)](https://www.freedesktop.org/software/systemd/man/latest/sd_watchdog_enabled.html)).
    ///   - variable: returns an environment variable's value.
    init?(process: Int32 = getpid(), logger: Logger, variable: (_ name: String) -> String? = SystemdNotifier.variable) {
        guard let path = variable("NOTIFY_SOCKET"), !path.isEmpty else { return nil }
        do throws(LocalDatagramError) {
            address = try LocalDatagramAddress(path)
        } catch {
            logger.warning(
                "systemd cannot be notified: NOTIFY_SOCKET is not the address of a socket",
                metadata: ["socket": "\(path)", "reason": "\(error)"])
            return nil
        }
        self.logger = logger
        let isForThis = variable("WATCHDOG_PID").map { Int32($0) == process } ?? true
        watchdogTime = isForThis ? variable("WATCHDOG_USEC").flatMap { Self.time(microseconds: $0) } : nil
    }

    /// Notifies that the server serves. Blocks for at most a second, like the other methods.
    func serves(_ status: String) { begin("READY=1", status) }

    /// Notifies that the server has begun to stop.
    func stops(_ status: String) { begin("STOPPING=1", status) }

    /// Notifies that the server is alive, if every part answers and systemd wants watchdog messages. The status shows
    /// the parts that do not answer.
    func watch(silent: [String]) {
        let (isNew, status) = state.withLock { state in
            defer { state.silent = silent }
            return (state.silent != silent, state.status)
        }
        var lines: [String] = []
        if silent.isEmpty && watchdogTime != nil { lines.append("WATCHDOG=1") }
        if isNew { lines.append(silent.isEmpty ? "STATUS=\(status)" : "STATUS=No answer from \(Self.list(silent))") }
        if !lines.isEmpty { send(lines) }
    }

    private func begin(_ message: String, _ status: String) {
        state.withLock { $0.status = status }
        send([message, "STATUS=\(status)"])
    }

    private func send(_ lines: [String]) {
        var failure: LocalDatagramError?
        do throws(LocalDatagramError) { try address.send(lines.joined(separator: "\n")) } catch { failure = error }
        let hadFailed = state.withLock { state in
            defer { state.hasFailed = failure != nil }
            return state.hasFailed
        }
        guard let failure, !hadFailed else { return }
        logger.warning(
            "systemd could not be notified: it may end the service",
            metadata: ["message": "\(lines[0])", "reason": "\(failure)"])
    }

    private static func list(_ parts: [String]) -> String { parts.joined(separator: " and ") }

    private static func time(microseconds text: String) -> Duration? {
        guard let microseconds = Int64(text), microseconds > 0 else { return nil }
        return .microseconds(microseconds)
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
