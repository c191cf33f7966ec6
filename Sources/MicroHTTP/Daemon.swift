import CMicroHTTPD
import Glibc

/// libmicrohttpd's daemon: started, quiesced, stopped.
///
/// `@unchecked Sendable`, proof: the pointers are written in `init` and never again; the library's functions on a
/// daemon are safe from any thread; `HTTPServer` calls `quiesce` and `stop` once each, in this order.
final class Daemon: @unchecked Sendable {
    private let daemon: OpaquePointer
    private let core: ServerCore
    private let log: UnsafeMutablePointer<cmhd_log>

    /// Starts the library's threads on `listenSocket`, which it then owns; nil if it refuses, the socket still ours.
    init?(_ core: ServerCore, listenSocket: Int32) {
        self.core = core
        let configuration = core.configuration
        // Retained for the library's log, released in `deinit`, as the log is used until the daemon has stopped.
        let logContext = Unmanaged.passRetained(LibraryLog(core.logger))
        log = .allocate(capacity: 1)
        log.initialize(
            to: cmhd_log(
                sink: { context, line in
                    guard let context else { return }
                    Unmanaged<LibraryLog>.fromOpaque(context).takeUnretainedValue().write(String(cString: line))
                }, context: logContext.toOpaque()))
        // A surplus, so that what is over our limit is answered; past the library's it is left unaccepted.
        let connections = configuration.connectionLimit + max(64, configuration.connectionLimit / 16)
        let longest = max(core.timeouts.head, core.timeouts.body, core.timeouts.idle) / 1_000_000_000 + 1
        var settings = cmhd_settings(
            log: log,
            // Unowned: `self` holds the core until the daemon has stopped.
            context: Unmanaged.passUnretained(core).toOpaque(),
            handler: { context, connection, url, method, version, part, partSize, request in
                Daemon.advance(context, connection, url, method, version, part, partSize, request)
            },
            target: { context, target, connection in Daemon.begin(context, target, connection) },
            completed: { _, connection, request, reason in Daemon.complete(connection, request, reason) },
            connection: { context, connection, slot, event in Daemon.notify(context, connection, slot, event) },
            listen_socket: listenSocket,
            threads: UInt32(configuration.threads),
            connection_limit: UInt32(clamping: connections),
            timeout_seconds: UInt32(clamping: longest),
            memory_limit: configuration.headLimit * 2)
        guard let daemon = cmhd_start(&settings) else {
            logContext.release()
            log.deallocate()
            return nil
        }
        self.daemon = daemon
    }

    deinit {
        if let context = log.pointee.context { Unmanaged<LibraryLog>.fromOpaque(context).release() }
        log.deallocate()
    }

    /// Stops accepting and closes the listening socket.
    func quiesce() {
        let listenSocket = MHD_quiesce_daemon(daemon)
        if listenSocket >= 0 { close(listenSocket) }
    }

    /// Closes every connection and joins the threads. Nothing may be suspended. Blocks.
    func stop() { MHD_stop_daemon(daemon) }

    // MARK: The library's callbacks

    /// The request line has arrived: the one moment when the target can be had as it was sent.
    private static func begin(
        _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer
    ) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
        let request = RequestContext(core, connection, target: target)
        cmhd_empty_query(target)
        // Retained here, released in `complete`, which comes once for each request that was begun.
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
            SocketOptions.set(on: descriptor, userTimeout: core.configuration.tcpUserTimeout)
            let watch = ConnectionWatch(
                descriptor: descriptor,
                isSurplus: core.reactor.count(of: .connection) >= core.configuration.connectionLimit,
                timeouts: core.timeouts, thread: core.reactor.thread(for: descriptor))
            // Retained here, released when the connection closes.
            slot.pointee = Unmanaged.passRetained(watch).toOpaque()
            watch.start()
        } else if let pointer = slot.pointee {
            slot.pointee = nil
            Unmanaged<ConnectionWatch>.fromOpaque(pointer).takeRetainedValue().close()
        }
    }
}
