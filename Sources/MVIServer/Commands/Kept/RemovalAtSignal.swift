import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Has a file that is not complete removed when the process is told to end (SIGINT, SIGTERM), and ends it.
final class RemovalAtSignal {
    private let sources: [(number: Int32, source: any DispatchSourceSignal)]

    init(of path: String) {
        // Not SIGHUP, which `nohup` has ignored.
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                unlink(path)
                // As a shell says of a process that a signal ended.
                _exit(128 + number)
            }
            source.resume()
            return (number, source)
        }
    }

    /// From now on signals end the process as before.
    func cancel() {
        for (number, source) in sources {
            source.cancel()
            signal(number, SIG_DFL)
        }
    }
}
