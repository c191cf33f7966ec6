import Glibc

/// Lines over a connected socket. The owner of this owns the descriptor.
struct ControlLines: ~Copyable {
    /// Longer lines are no commands.
    private static let longest = 16 * 1024

    /// What came of waiting for a line.
    enum Reading {
        case line(String)
        /// The other side is gone, or talks nonsense.
        case end
        /// It took too long.
        case late
        /// The descriptor that was to interrupt the wait became readable.
        case interrupted
    }

    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Waits for a line, which is one only with its end.
    ///
    /// - Parameters:
    ///   - limit: for all of it; nil to wait as long as the other side is there.
    ///   - interruption: a descriptor that ends the wait when it becomes readable.
    func read(within limit: Duration?, interruptedBy interruption: Int32? = nil) -> Reading {
        let start = ContinuousClock.now
        var line: [UInt8] = []
        while line.count <= Self.longest {
            var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            if let interruption { polled.append(pollfd(fd: interruption, events: Int16(POLLIN), revents: 0)) }
            let left = limit.map { $0 - start.duration(to: .now) }
            if let left, left <= .zero { return .late }
            let result = poll(&polled, nfds_t(polled.count), left.map { Int32($0 / .milliseconds(1)) + 1 } ?? -1)
            if result < 0, errno != EINTR { return .end }
            guard result > 0 else { continue }
            if polled.count > 1, polled[1].revents != 0 { return .interrupted }
            // Byte by byte: what comes after the line is not this reader's.
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, 0)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return .end }
            if byte == UInt8(ascii: "\n") {
                return String(validating: line, as: UTF8.self).map { .line($0) } ?? .end
            }
            line.append(byte)
        }
        return .end
    }

    /// Sends a line; false if the other side does not take it.
    @discardableResult
    func write(_ line: String) -> Bool {
        // Nothing but the end of a line ends a line.
        let bytes = Array(line.utf8.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 } + [UInt8(ascii: "\n")])
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        return send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
