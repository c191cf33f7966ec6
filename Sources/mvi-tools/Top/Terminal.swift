import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The terminal that the program runs in, changed for a table and given back as it was.
///
/// A border to C: structures are passed as pointers that are valid for the call.
final class Terminal {
    private let before: termios?
    private var sources: [any DispatchSourceProtocol] = []

    /// Takes a screen of its own and hears keys at once, without showing them.
    ///
    /// - Parameter tell: told of keys, sizes and signals on a thread of Dispatch's.
    init(_ tell: @escaping @Sendable (TopScreen.Event) -> Void) {
        var mode = termios()
        if isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &mode) == 0 {
            before = mode
            // Ctrl-C stays a signal.
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        } else {
            before = nil
        }
        _ = try? Tools.put(Screen.enter)
        let queue = DispatchQueue(label: "terminal")
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH] {
            // The source hears of it all the same.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { tell(number == SIGWINCH ? .resized : .ended) }
            source.resume()
            sources.append(source)
        }
        // Stopped in the background it would leave the shell this screen.
        signal(SIGTSTP, SIG_IGN)
        if before != nil {
            let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
            keys.setEventHandler {
                var bytes = [UInt8](repeating: 0, count: 16)
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                guard count > 0 else { return tell(.ended) }
                // A longer one is an arrow or its like, not a letter.
                if count == 1 { tell(.key(bytes[0])) }
            }
            keys.resume()
            sources.append(keys)
        }
    }

    /// Gives the terminal back as it was.
    func restore() {
        for source in sources { source.cancel() }
        sources = []
        _ = try? Tools.put(Screen.leave)
        if var before { tcsetattr(STDIN_FILENO, TCSANOW, &before) }
    }

    /// True if what is printed is shown on a terminal that has a screen.
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 && Tools.variable("TERM") != "dumb" }

    /// https://no-color.org
    static var hasColours: Bool { Tools.variable("NO_COLOR") == nil }

    /// Rows and columns now; a usual size where the terminal does not say.
    static var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return (24, 80)
        }
        return (Int(size.ws_row), Int(size.ws_col))
    }
}
