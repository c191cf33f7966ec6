import CMicroHTTPD
import Glibc

/// One of libmicrohttpd's daemons, run by a thread of the reactor.
///
/// `@unchecked Sendable`, proof: the pointers are written in `init` and never again; all other members and the library's
/// functions are used on the daemon's thread only, and by `stop` after that thread has ended.
final class Daemon: LoopDriver, @unchecked Sendable {
    private let daemon: OpaquePointer
    private let log: UnsafeMutablePointer<cmhd_log>
    private let box: Box
    let descriptor: Int32

    /// The daemon's context for the library's callbacks.
    final class Box {
        let core: ServerCore
        let thread: ReactorThread
        /// The number of requests that wait for their response and are not suspended: `MHD_run` calls the handler of
        /// each again.
        @exclusivity(unchecked) var waiting = 0
        /// The number of the present `MHD_run`, and of the requests of which it received a part but not the last one.
        @exclusivity(unchecked) var round: UInt64 = 0
        @exclusivity(unchecked) var incomplete = 0

        init(_ core: ServerCore, _ thread: ReactorThread) { (self.core, self.thread) = (core, thread) }
    }

    /// The library's daemon for the connections of `thread`.
    init(_ core: ServerCore, _ thread: ReactorThread) throws(HTTPServerError) {
        let configuration = core.configuration
        box = Box(core, thread)
        // Retained for the library's log and released in `deinit`, since the log is used until the daemon has stopped.
        let logContext = Unmanaged.passRetained(LibraryLog(core.logger))
        log = .allocate(capacity: 1)
        log.initialize(
            to: cmhd_log(
                sink: { context, line in
                    guard let context else { return }
                    Unmanaged<LibraryLog>.fromOpaque(context).takeUnretainedValue().write(String(cString: line))
                }, context: logContext.toOpaque()))
        let longest = max(core.timeouts.head, core.timeouts.body, core.timeouts.idle) / 1_000_000_000 + 1
        var settings = cmhd_settings(
            log: log,
            // Unretained: `self` retains the box until the daemon has stopped.
            context: Unmanaged.passUnretained(box).toOpaque(),
            handler: { context, connection, url, method, version, part, partSize, request in
                Daemon.advance(context, connection, url, method, version, part, partSize, request)
            },
            target: { context, target, connection in Daemon.begin(context, target, connection) },
            completed: { _, connection, request, reason in Daemon.complete(connection, request, reason) },
            connection: { context, connection, slot, event in Daemon.notify(context, connection, slot, event) },
            // Never reached: the acceptor enforces the configuration's limit, and one thread may have all of it.
            connection_limit: UInt32(clamping: configuration.connectionLimit + 64),
            timeout_seconds: UInt32(clamping: longest),
            // For each connection, and cleared before its next request: the head, 56 bytes for each of its fields, and
            // the response's head.
            memory_limit: configuration.headLimit + 8 * 1024)
        guard let daemon = cmhd_start(&settings), case let descriptor = cmhd_epoll(daemon), descriptor >= 0 else {
            logContext.release()
            log.deallocate()
            throw HTTPServerError(
                .cannotListen,
                "libmicrohttpd refused to start; its reason is in the log. Check the limits of memory and files.")
        }
        (self.daemon, self.descriptor) = (daemon, descriptor)
    }

    deinit {
        if let context = log.pointee.context { Unmanaged<LibraryLog>.fromOpaque(context).release() }
        log.deallocate()
    }

    /// Gives the library a connection. Returns false if the library has closed it.
    func add(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
        // With TURBO, the library counts a new connection as ready instead of watching it.
        box.thread.requestRun()
        return MHD_add_connection(daemon, descriptor, address, length) == .YES
    }

    /// Handles the connections that are ready, and asks each waiting request for its response.
    ///
    /// The library counts a waiting request as ready, so its own answer is of no use while there is one. A part of a
    /// body then means that there may be more to read now; a large head is read on after a millisecond.
    func run() -> DriverPause {
        box.round &+= 1
        box.incomplete = 0
        MHD_run(daemon)
        if box.waiting > 0 { return box.incomplete > 0 ? .none : .millisecond }
        var timeout: UInt64 = 0
        return MHD_get_timeout(daemon, &timeout) == .YES && timeout == 0 ? .none : .untilReady
    }

    /// Closes all connections. None may be suspended. Called once, after the daemon's thread has ended.
    func stop() { MHD_stop_daemon(daemon) }

    // MARK: The library's callbacks

    /// Called when the request line has arrived, the only moment at which the target is available as sent.
    private static func begin(
        _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer
    ) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        let box = Unmanaged<Box>.fromOpaque(context).takeUnretainedValue()
        let request = RequestContext(box, connection, target: target)
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
        return Unmanaged<RequestContext>.fromOpaque(request)._withUnsafeGuaranteedRef {
            $0.advance(
                HeadReader.Raw(connection: connection, method: method, target: url, version: version), part, partSize)
        }
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
        let box = Unmanaged<Box>.fromOpaque(context).takeUnretainedValue()
        let core = box.core
        if event == .CONNECTION_NOTIFY_STARTED {
            let descriptor = cmhd_socket(connection)
            let watch = ConnectionWatch(
                descriptor: descriptor, timeouts: core.timeouts, thread: box.thread,
                place: core.connections.started(descriptor))
            // Retained here and released when the connection closes.
            slot.pointee = Unmanaged.passRetained(watch).toOpaque()
            watch.start()
        } else if let pointer = slot.pointee {
            slot.pointee = nil
            Unmanaged<ConnectionWatch>.fromOpaque(pointer).takeRetainedValue().close()
            core.roomChanged()
        }
    }
}
