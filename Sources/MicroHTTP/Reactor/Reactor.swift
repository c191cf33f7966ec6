import Glibc
import Locking

/// Something that a reactor thread watches.
protocol ReactorMember: AnyObject, Sendable {
    /// The descriptor became ready; on the reactor's thread, perhaps for a state that is over.
    func ready(_ events: SocketEvents)

    /// A deadline set for the member has come; on the reactor's thread. Returns the next one, nil for none.
    func timeReached(_ now: UInt64) -> UInt64?

    /// `ReactorThread.enqueue` was called for it; on the reactor's thread.
    func run()

    /// The threads have ended: the member closes what it owns. On the thread that stops the reactor.
    func dismissed()
}

/// What happened to a socket.
struct SocketEvents: OptionSet, Sendable {
    let rawValue: UInt8
    static let readable = SocketEvents(rawValue: 1)
    static let writable = SocketEvents(rawValue: 2)
    /// The peer closed its side, or the connection failed.
    static let hangUp = SocketEvents(rawValue: 4)
}

/// The kinds of members, counted apart.
enum ReactorMemberKind: Int, CaseIterable, Sendable {
    case stream, linger, connection, acceptor, nudge, question
}

/// The threads that watch sockets which libmicrohttpd no longer has, and every deadline of this layer.
struct Reactor: Sendable {
    private let threads: [ReactorThread]

    /// Starts `count` threads whose timers are as fine as `granularity` nanoseconds; nil if the system refuses one.
    init?(threads count: Int, granularity: UInt64, changed: @escaping @Sendable () -> Void) {
        var threads: [ReactorThread] = []
        for _ in 0..<count {
            guard let thread = ReactorThread(granularity: granularity, changed: changed) else {
                threads.forEach { $0.halt() }
                return nil
            }
            threads.append(thread)
        }
        self.threads = threads
    }

    /// The thread for a socket: the same number always goes to the same thread.
    func thread(for descriptor: Int32) -> ReactorThread { threads[Int(descriptor) % threads.count] }

    /// Calls `answer` when each thread has come round; if they have ended, never.
    func ask(_ answer: @escaping @Sendable () -> Void) {
        let oneHas = countdown(from: threads.count, then: answer)
        for thread in threads { ReactorQuestion(thread, answer: oneHas).ask() }
    }

    func count(of kind: ReactorMemberKind) -> Int { threads.reduce(0) { $0 + $1.count(of: kind) } }

    func members(of kind: ReactorMemberKind) -> [any ReactorMember] {
        threads.flatMap { $0.members { $0 == kind } }
    }

    /// Ends the threads and waits for them. Members may still come and go.
    func halt() { threads.forEach { $0.halt() } }

    /// After `halt`: has every member that is left close what it owns.
    func dismiss() {
        for thread in threads {
            thread.members { _ in true }.forEach { $0.dismissed() }
            thread.runQueue()
        }
    }
}
