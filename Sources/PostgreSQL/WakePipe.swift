#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Lets any thread wake the one that waits for a connection's notifications. It stays awake once woken.
package final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// - Returns: Nil if the process has no free file descriptor.
    package init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        // Child processes do not need them.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    package func wake() {
        var byte: UInt8 = 0
        // One byte always fits in a pipe that is not read, and is enough; further writes may fail.
        _ = fcntl(writeEnd, F_SETFL, O_NONBLOCK)
        _ = write(writeEnd, &byte, 1)
    }

    /// Waits until it is woken, or until the deadline.
    package func wait(until deadline: ContinuousClock.Instant) {
        var descriptor = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, deadline.millisecondsLeft)
    }
}

extension ContinuousClock.Instant {
    /// The remaining time, at least 0, as `poll` expects it.
    var millisecondsLeft: Int32 {
        let left = (self - ContinuousClock.now).components
        return Int32(clamping: max(0, left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000))
    }
}
