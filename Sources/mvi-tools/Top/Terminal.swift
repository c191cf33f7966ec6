import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The program's terminal, set up for a table and restored at the end.
///
/// A C border: structures are passed as pointers that are valid for the call.
final class Terminal {
    private let before: termios?
    private var sources: [any DispatchSourceProtocol] = []

    /// Switches to the alternate screen and reads keys at once, without echo.
    ///
    /// - Parameter tell: called for keys, sizes and signals on a thread of Dispatch.
    init(_ tell: @escaping @Sendable (TopScreen.Event) -> Void) {
        var mode = termios()
        if isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &mode) == 0 {
            before = mode
            // Ctrl-C still sends a signal.
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        } else {
            before = nil
        }
        _ = try? Tools.put(Screen.enter)
        let queue = DispatchQueue(label: "terminal")
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH] {
            // The source receives the signal all the same.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { tell(number == SIGWINCH ? .resized : .ended) }
            source.resume()
            sources.append(source)
        }
        // If it were suspended, the shell would get this screen.
        signal(SIGTSTP, SIG_IGN)
        if before != nil {
            let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
            keys.setEventHandler {
                var bytes = [UInt8](repeating: 0, count: 16)
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                guard count > 0 else { return tell(.ended) }
                // Longer input is an arrow key or similar, not a letter.
                if count == 1 { tell(.key(bytes[0])) }
            }
            keys.resume()
            sources.append(keys)
        }
    }

    /// Restores the terminal.
    func restore() {
        for source in sources { source.cancel() }
        sources = []
        _ = try? Tools.put(Screen.leave)
        if var before { tcsetattr(STDIN_FILENO, TCSANOW, &before) }
    }

    /// True if the output goes to a terminal with a screen.
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 && Tools.variable("TERM") != "dumb" }

    /// False if `NO_COLOR` is set (https://no-color.org).
    static var hasColours: Bool { Tools.variable("NO_COLOR") == nil }

    /// The number of rows and columns; a default if the terminal does not report them.
    static var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return (24, 80)
        }
        return (Int(size.ws_row), Int(size.ws_col))
    }
}
