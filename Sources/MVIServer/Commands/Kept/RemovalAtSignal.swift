import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Removes an incomplete file or folder and ends the process at SIGINT or SIGTERM.
final class RemovalAtSignal {
    private let sources: [(number: Int32, source: any DispatchSourceSignal)]

    init(of path: String) {
        // Not SIGHUP, which `nohup` ignores.
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                FileTree.remove(path)
                // The exit code of a process that was ended by a signal, as in a shell.
                _exit(128 + number)
            }
            source.resume()
            return (number, source)
        }
    }

    /// Restores the default behavior of the signals.
    func cancel() {
        for (number, source) in sources {
            source.cancel()
            signal(number, SIG_DFL)
        }
    }
}
