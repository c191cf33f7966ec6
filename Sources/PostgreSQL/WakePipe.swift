#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Lets any thread wake the one that waits for a connection's notifications. Once woken it stays so.
package final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// - Returns: nil if the process has no file to give.
    package init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        // Programs that the process starts have no use for them.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    package func wake() {
        var byte: UInt8 = 0
        // One byte always has room in a pipe that nothing is read from, and is enough; of more the rest may fail.
        _ = fcntl(writeEnd, F_SETFL, O_NONBLOCK)
        _ = write(writeEnd, &byte, 1)
    }

    /// Waits until it is woken, for a time at most.
    package func wait(until deadline: ContinuousClock.Instant) {
        var descriptor = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, deadline.millisecondsLeft)
    }
}

extension ContinuousClock.Instant {
    /// From now on, at least 0, as `poll` takes them.
    var millisecondsLeft: Int32 {
        let left = (self - ContinuousClock.now).components
        return Int32(clamping: max(0, left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000))
    }
}
