#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The output of a command's result.
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
}

/// The three streams that each program is given.
enum StandardStreams {
    /// Makes them safe to use; called once, before anything else is opened.
    ///
    /// A reader that goes away (`head`, a log's) is an end and not a signal that kills. One that was closed by the caller
    /// leads nowhere: the next file that is opened would have its number, and get what was meant for the stream.
    static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) == -1 {
            // The lowest number that is free.
            _ = open("/dev/null", O_RDWR)
        }
    }
}

/// The output of errors.
package enum StandardError {
    /// - Parameter program: who says it.
    package static func say(_ line: String, by program: String) {
        // One line, and nothing that a terminal would obey: a name in it may have any character.
        let safe = line.unicodeScalars.map {
            $0.value < 0x20 || $0.value == 0x7F ? "\\u{\(String($0.value, radix: 16))}" : String($0)
        }
        let bytes = Array("\(program): \(safe.joined())\n".utf8)
        // A reader that is gone is no reason to fail.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
