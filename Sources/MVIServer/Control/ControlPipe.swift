import Glibc

/// Wakes a thread that waits in the system.
final class ControlPipe: Sendable {
    /// Readable from the first `wake` on.
    let reading: Int32
    private let writing: Int32

    init() throws(ControlFailure) {
        var pipe: [Int32] = [-1, -1]
        guard Glibc.pipe(&pipe) == 0 else {
            throw ControlFailure("Cannot make a pipe: \(systemText(errno)).")
        }
        for descriptor in pipe { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (pipe[0], pipe[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// From any thread; a few times only, since nobody empties the pipe.
    func wake() {
        var byte: UInt8 = 0
        while write(writing, &byte, 1) < 0, errno == EINTR {}
    }

    /// Blocks the calling thread until the first `wake`.
    func wait() {
        var polled = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        while poll(&polled, 1, -1) <= 0 {}
    }
}
