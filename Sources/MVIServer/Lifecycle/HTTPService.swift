import Logging
import MicroHTTP
import ServiceLifecycle

/// Listens while the process runs, and stops in the order that leaves no client without an answer.
struct HTTPService: Service {
    private let assembly: Assembly

    init(_ assembly: Assembly) { self.assembly = assembly }

    func run() async throws {
        let openFiles = OpenFiles.raiseLimit()
        try assembly.http.start()
        do {
            try assembly.admin?.start()
        } catch {
            await assembly.http.shutdown(grace: .zero)
            throw error
        }
        StartLog.log(assembly, openFiles: openFiles)
        assembly.systemd?.serves("Serving on \(StartLog.url(assembly.settings.host, assembly.http.port))")
        do {
            try await gracefulShutdown()
        } catch {
            // Cancelled: another service failed, and there is no time to be had.
            await stop(drainTime: .zero)
            return
        }
        await stop(drainTime: assembly.settings.drainTime)
    }

    /// From the first line on the server is not ready and opens no streams. Streams are told to go and end by
    /// themselves, requests that wait are answered; then the HTTP layer stops, and the admin port last, so that a probe
    /// still hears why.
    private func stop(drainTime: Duration) async {
        let streams = assembly.sessions.environment.openStreams
        assembly.logger.info("Stopping", metadata: ["streams": "\(streams)"])
        assembly.systemd?.stops("Stopping: \(streams) streams are told to go")
        // Other nodes take its sessions over while it ends what it has begun.
        assembly.sessions.leaveNodes {}
        assembly.sessions.drain()
        await assembly.http.shutdown(grace: drainTime)
        await assembly.admin?.shutdown(grace: .zero)
    }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The number of files, including sockets, that the process may open.
enum OpenFiles {
    /// The limit now; 0 if the system does not say.
    static var limit: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// Raises the limit as far as the system lets it, and says what it is now.
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
