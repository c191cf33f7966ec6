import CMicroHTTPD
import Glibc

/// libmicrohttpd's daemon.
///
/// `@unchecked Sendable`, proof: the pointers are written in `init` and never again; the library's functions on a
/// daemon are thread-safe; `HTTPServer` calls `stop` once, after the last `add`.
final class Daemon: @unchecked Sendable {
    private let daemon: OpaquePointer
    private let core: ServerCore
    private let log: UnsafeMutablePointer<cmhd_log>

    /// Starts the library's threads. On failure, the core's reactor is halted.
    init(_ core: ServerCore) throws(HTTPServerError) {
        self.core = core
        let configuration = core.configuration
        // Retained for the library's log and released in `deinit`, since the log is used until the daemon has stopped.
        let logContext = Unmanaged.passRetained(LibraryLog(core.logger))
        log = .allocate(capacity: 1)
        log.initialize(
            to: cmhd_log(
                sink: { context, line in
                    guard let context else { return }
                    Unmanaged<LibraryLog>.fromOpaque(context).takeUnretainedValue().write(String(cString: line))
                }, context: logContext.toOpaque()))
        // Never reached: the acceptor enforces the configuration's limit, and one thread may have all of it.
        let connections = (configuration.connectionLimit + 64) * configuration.threads
        let longest = max(core.timeouts.head, core.timeouts.body, core.timeouts.idle) / 1_000_000_000 + 1
        var settings = cmhd_settings(
            log: log,
            // Unretained: `self` retains the core until the daemon has stopped.
            context: Unmanaged.passUnretained(core).toOpaque(),
            handler: { context, connection, url, method, version, part, partSize, request in
                Daemon.advance(context, connection, url, method, version, part, partSize, request)
            },
            target: { context, target, connection in Daemon.begin(context, target, connection) },
            completed: { _, connection, request, reason in Daemon.complete(connection, request, reason) },
            connection: { context, connection, slot, event in Daemon.notify(context, connection, slot, event) },
            threads: UInt32(configuration.threads),
            connection_limit: UInt32(clamping: connections),
            timeout_seconds: UInt32(clamping: longest),
            // For each connection, and cleared before its next request: the head, 56 bytes for each of its fields, and
            // the response's head.
            memory_limit: configuration.headLimit + 8 * 1024)
        guard let daemon = cmhd_start(&settings) else {
            logContext.release()
            log.deallocate()
            core.reactor.halt()
            throw HTTPServerError(
                .cannotListen,
                "libmicrohttpd refused to start; its reason is in the log. Check the limits of threads and files.")
        }
        self.daemon = daemon
    }

    deinit {
        if let context = log.pointee.context { Unmanaged<LibraryLog>.fromOpaque(context).release() }
        log.deallocate()
    }

    /// Gives the library a connection. Returns false if the library has closed it. Any thread.
    func add(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
        MHD_add_connection(daemon, descriptor, address, length) == .YES
    }

    /// Closes all connections and joins the threads. None may be suspended. Blocks.
    func stop() { MHD_stop_daemon(daemon) }

    // MARK: The library's callbacks

    /// Called when the request line has arrived, the only moment at which the target is available as sent.
    private static func begin(
        _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer
    ) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
        let request = RequestContext(core, connection, target: target)
        cmhd_empty_query(target)
        // Retained here and released in `complete`, which is called once for each request.
        return Unmanaged.passRetained(request).toOpaque()
    }

    private static func advance(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
        _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ part: UnsafePointer<CChar>?,
        _ partSize: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard
            let connection, let url, let method, let version, let partSize, let request = request?.pointee
        else { return .NO }
        return Unmanaged<RequestContext>.fromOpaque(request).takeUnretainedValue().advance(
            HeadReader.Raw(connection: connection, method: method, target: url, version: version), part, partSize)
    }

    private static func complete(
        _ connection: OpaquePointer?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ reason: MHD_RequestTerminationCode
    ) {
        guard let connection, let slot = request, let pointer = slot.pointee else { return }
        slot.pointee = nil
        Unmanaged<RequestContext>.fromOpaque(pointer).takeRetainedValue().completed(connection, reason)
    }

    private static func notify(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
        _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ event: MHD_ConnectionNotificationCode
    ) {
        guard let context, let connection, let slot else { return }
        if event == .CONNECTION_NOTIFY_STARTED {
            let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
            let descriptor = cmhd_socket(connection)
            let watch = ConnectionWatch(
                descriptor: descriptor, timeouts: core.timeouts, thread: core.reactor.thread(for: descriptor),
                place: core.connections.started(descriptor))
            // Retained here and released when the connection closes.
            slot.pointee = Unmanaged.passRetained(watch).toOpaque()
            watch.start()
        } else if let pointer = slot.pointee {
            slot.pointee = nil
            Unmanaged<ConnectionWatch>.fromOpaque(pointer).takeRetainedValue().close()
            let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
            core.roomChanged()
        }
    }
}
