#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a command's result goes: a person's screen, a file, another program.
package enum StandardOutput {
    /// Writes all of it; false if its reader is gone.
    package static func put(_ bytes: [UInt8]) throws -> Bool {
        var written = 0
        while written < bytes.count {
            let part = Array(bytes[written...].prefix(64 * 1024))
            let count = write(STDOUT_FILENO, part, part.count)
            if count > 0 {
                written += count
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR {
                throw CommandFailure("Not all could be written to the standard output (errno \(errno)).")
            }
        }
        return true
    }

    /// `head` and its like stop reading: that is an end, not a signal that kills.
    package static func ignoreClosedPipe() { signal(SIGPIPE, SIG_IGN) }
}

/// Where a person reads what went wrong.
package enum StandardError {
    /// - Parameter program: who says it.
    package static func say(_ line: String, by program: String) {
        let bytes = Array("\(program): \(line)\n".utf8)
        // A reader that is gone is no reason to fail.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
