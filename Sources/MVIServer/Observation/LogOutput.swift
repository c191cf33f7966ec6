import Dispatch
import Locking
import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file descriptor for log lines, with a thread of its own that writes them: a reader that is too slow or hangs stops
/// no thread that serves. Lines beyond a bound are dropped; when the reader reads again, a line has their number.
final class LogOutput: Sendable {
    /// The standard output.
    static let standard: LogOutput = {
        let output = LogOutput(descriptor: 1)
        // Lines of the last moments of a process that ends in order.
        atexit { LogOutput.standard.flush(within: LogOutput.flushTime) }
        return output
    }()

    /// The maximal size of lines that wait, in bytes.
    static let limit = 1 << 20
    /// The longest time that the end of a process waits for the reader of its log.
    static let flushTime: Duration = .milliseconds(500)

    private struct State {
        var lines: [UInt8] = []
        var isWriting = false
        /// The lines that were dropped since the last summary, and in all.
        var (untold, dropped) = (0, 0)
        var format = LogFormat.text
        var flushes: [DispatchSemaphore] = []
    }

    private let descriptor: Int32
    private let state = Lock(State())
    private let work = DispatchSemaphore(value: 0)
    private let hasThread: Bool

    /// - Parameter descriptor: stays open as long as the process runs.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        let (state, work) = (state, work)
        let thread = SystemThread {
            while true {
                work.wait()
                Self.writeAll(state, descriptor)
            }
        }
        thread?.detach()
        hasThread = thread != nil
    }

    /// The number of lines that were dropped because the reader was too slow.
    var dropped: Int { state.withLock { $0.dropped } }

    /// The format of the line that counts dropped ones.
    func use(_ format: LogFormat) { state.withLock { $0.format = format } }

    /// Adds a line with its end. Never blocks. Any thread.
    func add(_ line: [UInt8]) {
        let isFirst = state.withLock { state in
            guard state.lines.count + line.count <= Self.limit else {
                state.untold += 1
                state.dropped += 1
                return false
            }
            state.lines += line
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard isFirst else { return }
        if hasThread { work.signal() } else { Self.writeAll(state, descriptor) }
    }

    /// Waits until the lines that were added before are written, at most for a time.
    func flush(within time: Duration) {
        let done = DispatchSemaphore(value: 0)
        let waits = state.withLock { state in
            if state.isWriting { state.flushes.append(done) }
            return state.isWriting
        }
        guard waits else { return }
        let (seconds, attoseconds) = time.components
        _ = done.wait(timeout: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
    }

    /// Writes until no line waits.
    private static func writeAll(_ state: Lock<State>, _ descriptor: Int32) {
        while true {
            let (lines, untold, format) = state.withLock { state in
                defer { (state.lines, state.untold) = ([], 0) }
                return (state.lines, state.untold, state.format)
            }
            if lines.isEmpty, untold == 0 {
                let flushes = state.withLock { state -> [DispatchSemaphore]? in
                    guard state.lines.isEmpty else { return nil }
                    defer { state.flushes = [] }
                    state.isWriting = false
                    return state.flushes
                }
                guard let flushes else { continue }
                for flush in flushes { flush.signal() }
                return
            }
            put(lines, descriptor)
            // They came after the lines that were kept.
            if untold > 0 { put(summary(of: untold, format), descriptor) }
        }
    }

    private static func put(_ lines: [UInt8], _ descriptor: Int32) {
        var written = 0
        while written < lines.count {
            let count = lines[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { written += count }
            if count < 0, errno == EAGAIN {
                // The descriptor is shared with a process that made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if count < 0, errno != EINTR {
                // The reader is gone.
                return
            }
        }
    }

    private static func summary(of count: Int, _ format: LogFormat) -> [UInt8] {
        let line = Lock<[UInt8]>([])
        let logger = Logger(label: "mvi-server") {
            format.handler(label: $0) { bytes in line.withLock { $0 += bytes } }
        }
        logger.warning("Log lines were dropped: the log was not read in time", metadata: ["count": "\(count)"])
        return line.withLock { $0 }
    }
}
