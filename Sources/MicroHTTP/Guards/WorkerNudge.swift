import Glibc
import Locking

/// Wakes the library's threads periodically.
///
/// If a thread finds as many ready sockets as it requests from `epoll_wait` (128 in 0.9.75), it calls `epoll_wait`
/// again, with its full timeout, before it serves them. With exactly that many, their requests wait for another event
/// on that thread. This member provides one: a connection that is closed at once. It does nothing while there are too
/// few connections to fill the list.
final class WorkerNudge: ReactorMember {
    /// The library's maximum for `epoll_wait`: `MAX_EVENTS` in its `daemon.c`.
    static let batch = 128
    /// The longest wait of such requests.
    private static let interval: UInt64 = 100_000_000

    private let core: ServerCore
    private let thread: ReactorThread
    private let id = Lock<UInt64>(0)
    private let serve: @Sendable (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool

    init(_ core: ServerCore, serve: @escaping @Sendable (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool) {
        self.core = core
        self.serve = serve
        thread = core.reactor.thread(for: 0)
    }

    /// Starts. It ends with the reactor's thread, which is stopped before the daemon.
    func start() {
        let number = thread.add(self, .nudge, deadline: monotonicNow() + Self.interval)
        id.withLock { $0 = number }
    }

    func ready(_ events: SocketEvents) {}
    func run() {}
    func dismissed() { thread.remove(id.withLock { $0 }) }

    func timeReached(_ now: UInt64) -> UInt64? {
        guard !core.isStopping.load(ordering: .acquiring) else { return nil }
        if core.connections.count >= Self.batch - 2 {
            for worker in 0..<core.configuration.threads { nudge(worker) }
        }
        return now + Self.interval
    }

    /// Gives the thread a connection whose other end is closed. The library selects the thread by descriptor number.
    private func nudge(_ worker: Int) {
        var ends: [Int32] = [-1, -1]
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        guard socketpair(AF_UNIX, Int32(kind), 0, &ends) == 0 else { return }
        close(ends[1])
        var descriptor = ends[0]
        var passedOver: [Int32] = []
        while descriptor >= 0, Int(descriptor) % core.configuration.threads != worker {
            passedOver.append(descriptor)
            descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, descriptor + 1)
        }
        for other in passedOver { close(other) }
        guard descriptor >= 0 else { return }
        // Without an address, so that no limit applies.
        _ = core.connections.accepted(descriptor, .unknown)
        var address = sockaddr(sa_family: sa_family_t(AF_UNIX), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        if !serve(descriptor, &address, socklen_t(MemoryLayout<sa_family_t>.size)) {
            core.connections.refused(descriptor)
        }
    }
}
