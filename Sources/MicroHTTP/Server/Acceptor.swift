import CMicroHTTPD
import Glibc
import Locking
import Networks

/// Accepts connections on the reactor's entrance and gives each to libmicrohttpd.
///
/// The library could accept itself, but 0.9.75 cannot stop doing so: `MHD_quiesce_daemon` and the library's own threads
/// both remove the socket from epoll, and the second one aborts the process. It also leaves connections unanswered at
/// its limit and when descriptors run out. Here connections beyond the limit wait in the listen queue: an `EventSource`
/// that gets a 503 never reconnects.
final class Acceptor: ReactorMember {
    private struct State {
        var id: UInt64 = 0
        /// A reserve that is closed for one accept when no descriptors are left.
        var spare: Int32
        var isStopping = false
        var isClosed = false
    }

    /// The number of connections to accept before the thread's other members run.
    private static let batch = 64

    /// The pause after the system had no descriptor.
    private static let retry: UInt64 = 100_000_000

    private let listenSocket: Int32
    /// Removes the file of a Unix socket.
    private let removeFile: @Sendable () -> Void
    private let core: ServerCore
    private let thread: ReactorThread
    /// One for each thread of the reactor.
    private let daemons: [Daemon]
    private let state: Lock<State>

    /// Takes ownership of `listenSocket`.
    init(
        _ core: ServerCore, _ daemons: [Daemon], listenSocket: Int32, removeFile: @escaping @Sendable () -> Void = {}
    ) {
        self.core = core
        self.removeFile = removeFile
        self.daemons = daemons
        self.listenSocket = listenSocket
        thread = core.reactor.entrance
        state = Lock(State(spare: Self.openSpare()))
    }

    /// Takes ownership of `unixSocket` and its file.
    convenience init(_ core: ServerCore, _ daemons: [Daemon], unixSocket: UnixSocket.Listening) {
        self.init(core, daemons, listenSocket: unixSocket.descriptor) { unixSocket.removeFile() }
    }

    /// Starts to accept. Returns false if the system refuses to watch the socket.
    func start() -> Bool {
        let id = thread.add(self, .acceptor, deadline: .max / 2)
        state.withLock { $0.id = id }
        return thread.watch(listenSocket, for: id)
    }

    /// Stops accepting soon, on the reactor's thread, where no accept can be in progress then.
    func stop() {
        let id = state.withLock { state in
            state.isStopping = true
            return state.id
        }
        _ = thread.enqueue(id)
    }

    func ready(_ events: SocketEvents) { run() }

    func timeReached(_ now: UInt64) -> UInt64? {
        run()
        return nil
    }

    func dismissed() { close() }

    func run() {
        guard !state.withLock({ $0.isStopping }) else { return close() }
        for _ in 0..<Self.batch {
            guard hasRoom(), acceptOne() else { return }
        }
        _ = thread.enqueue(state.withLock { $0.id })
    }

    /// Returns false if a connection must close first; the acceptor is notified when one has.
    private func hasRoom() -> Bool {
        if core.hasRoom { return true }
        let id = state.withLock { $0.id }
        let waits = core.awaitRoom(id) { [thread] in _ = thread.enqueue(id) }
        if waits {
            core.logger.warning(
                "Too many connections are open; others wait until one closes. Raise --max-connections.",
                metadata: ["connections": "\(core.configuration.connectionLimit)"])
        }
        return !waits
    }

    /// Returns false if there is nothing to accept.
    private func acceptOne() -> Bool {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let descriptor = withSocketAddress(&address) { Self.accept(listenSocket, $0, &length) }
        guard descriptor >= 0 else { return goOn(after: errno) }
        admit(descriptor, address, length)
        return true
    }

    private func admit(_ descriptor: Int32, _ address: sockaddr_storage, _ length: socklen_t) {
        var address = address
        SocketOptions.set(on: descriptor, userTimeout: core.configuration.tcpUserTimeout)
        let peer = withSocketAddress(&address) { PeerAddress($0) }
        guard core.connections.accepted(descriptor, peer) else { return refuse(descriptor, peer) }
        // The daemon that has its number, on that daemon's thread.
        let index = core.reactor.index(for: descriptor)
        let isTaken = core.reactor.threads[index].perform { [self, address] in
            var address = address
            let isServed = withSocketAddress(&address) { daemons[index].add(descriptor, $0, length) }
            if !isServed { drop(nil, uncounting: descriptor) }
        }
        if !isTaken { drop(descriptor, uncounting: descriptor) }
    }

    private func drop(_ descriptor: Int32?, uncounting number: Int32) {
        if let descriptor { Glibc.close(descriptor) }
        core.connections.refused(number)
        core.roomChanged()
    }

    private func refuse(_ descriptor: Int32, _ peer: PeerAddress) {
        core.logger.warning(
            "An address has too many connections, or the most while few are left; more are refused. List a proxy as --trusted-proxy.",
            metadata: ["address": "\(peer)"])
        let fault = RequestFault(.tooManyConnections, "Your address has too many open connections to this server.")
        core.sendAndClose(descriptor, core.lastWords(core.response(to: fault), head: nil))
    }

    /// Returns true to retry at once.
    private func goOn(after failure: Int32) -> Bool {
        switch failure {
        case EAGAIN: return false
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return endOneWithSpare()
        // The connection failed before it was accepted, which accept(2) reports as a network error.
        default: return true
        }
    }

    /// Accepts and closes one connection with the spare descriptor, so that its client does not wait.
    private func endOneWithSpare() -> Bool {
        core.logger.error("A connection is refused: the process has no file descriptors left. Raise its limit.")
        let spare = state.withLock { $0.spare }
        if spare >= 0 { Glibc.close(spare) }
        let descriptor = Self.accept(listenSocket, nil, nil)
        if descriptor >= 0 { Glibc.close(descriptor) }
        let next = Self.openSpare()
        let id = state.withLock { state in
            state.spare = next
            return state.id
        }
        thread.setDeadline(monotonicNow() + Self.retry, for: id)
        return false
    }

    /// Accepts a socket that no child process inherits. The library sets the flag later: a process that is started in
    /// between would keep the connection open.
    static func accept(
        _ listener: Int32, _ address: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?
    ) -> Int32 {
        // On Linux the same as SOCK_CLOEXEC and SOCK_NONBLOCK, which a file that also imports microhttpd.h would hide from
        // the others.
        accept4(listener, address, length, O_CLOEXEC | O_NONBLOCK)
    }

    private static func openSpare() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }

    private func close() {
        let (wasClosed, spare, id) = state.withLock { state in
            defer { state.isClosed = true }
            return (state.isClosed, state.spare, state.id)
        }
        guard !wasClosed else { return }
        removeFile()
        thread.unwatch(listenSocket)
        Glibc.close(listenSocket)
        if spare >= 0 { Glibc.close(spare) }
        thread.remove(id)
    }
}
