#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The standard output, which receives a command's result.
package enum StandardOutput {
    /// Writes all bytes; false if the reader has closed the stream.
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
                throw CommandFailure("The standard output could not be written completely (errno \(errno)).")
            }
        }
        return true
    }
}

/// The three standard streams.
enum StandardStreams {
    /// Makes the streams safe to use. Called once, before anything else is opened.
    ///
    /// A reader that closes its end (such as `head`) causes an error and no signal. Streams that the caller closed are
    /// opened on `/dev/null`: otherwise the next opened file would get their number and their output.
    static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) == -1 {
            // The lowest free number.
            _ = open("/dev/null", O_RDWR)
        }
    }
}

/// The standard error, which receives errors for people.
package enum StandardError {
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// - Parameter program: the name of the program.
    package static func say(_ line: String, by program: String) {
        let bytes = Array("\(program): \(line.withoutInvisibles)\n".utf8)
        // Errors are ignored: the reader may have closed the stream.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
