import Locking
import Logging

/// Forwards libmicrohttpd's log, at most ten lines in ten seconds, since a client can cause one per request.
final class LibraryLog: Sendable {
    private struct Window {
        var start: UInt64 = 0
        var lines = 0
        var dropped = 0
    }

    private static let length: UInt64 = 10_000_000_000
    private static let linesPerWindow = 10

    /// The messages caused by our own ways: a handed-over stream, a cut request, a Unix socket.
    private static let expected = [
        "Closing connection (application error generating response).",
        "Closing connection (application reported error generating data).",
        "Application reported internal error, closing connection.",
        // A Unix socket has no options of TCP, and sends at once.
        "Setting TCP_NODELAY option to ON state failed: Operation not supported",
        "Setting TCP_CORK option to OFF state failed: Operation not supported",
        "Failed to push the data from buffers to the network.",
    ]

    private let logger: Logger
    private let window = Lock(Window())

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// Logs one line, from any thread.
    func write(_ line: String, now: UInt64 = monotonicNow()) {
        guard !Self.expected.contains(where: line.hasPrefix) else { return }
        let (passes, dropped) = window.withLock { window in
            if window.start == 0 || now >= window.start + Self.length {
                defer { window = Window(start: now, lines: 1) }
                return (true, window.dropped)
            }
            window.lines += 1
            guard window.lines > Self.linesPerWindow else { return (true, 0) }
            window.dropped += 1
            return (false, 0)
        }
        if dropped > 0 { logger.notice("libmicrohttpd logged more", metadata: ["dropped-lines": "\(dropped)"]) }
        guard passes else { return }
        let text = line.hasSuffix("\n") ? String(line.dropLast()) : line
        logger.notice("libmicrohttpd: \(text)")
    }
}
