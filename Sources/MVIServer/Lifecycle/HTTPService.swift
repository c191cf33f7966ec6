import Logging
import MicroHTTP
import ServiceLifecycle

/// Listens while the process runs. Its shutdown leaves no client without an answer.
struct HTTPService: Service {
    private let assembly: Assembly

    init(_ assembly: Assembly) { self.assembly = assembly }

    func run() async throws {
        let openFiles = OpenFiles.raiseLimit()
        try assembly.listen()
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
            // Canceled because another service failed: there is no time left.
            await stop(drainTime: .zero)
            return
        }
        await stop(drainTime: assembly.settings.drainTime)
    }

    /// Shuts down. The server is not ready and opens no more streams. Streams get a `goaway` and end by themselves,
    /// and waiting requests are answered. Then the HTTP layer stops, and at last the admin port, which answers probes
    /// until then.
    private func stop(drainTime: Duration) async {
        let streams = assembly.sessions.environment.openStreams
        assembly.logger.info("Stopping", metadata: ["streams": "\(streams)"])
        assembly.systemd?.stops("Stopping: \(streams) streams are asked to end")
        // Other nodes take over its sessions while it finishes its work.
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

/// The number of files and sockets that the process may open.
enum OpenFiles {
    /// The current limit; 0 if it is unknown.
    static var limit: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// Raises the limit to the system's maximum. Returns the new limit.
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
