import Glibc
import Locking

/// An object that a reactor thread watches.
protocol ReactorMember: AnyObject, Sendable {
    /// Called on the reactor's thread when the descriptor is ready. The state may have changed since.
    func ready(_ events: SocketEvents)

    /// Called on the reactor's thread at the member's deadline. Returns the next one, or nil.
    func timeReached(_ now: UInt64) -> UInt64?

    /// Called on the reactor's thread after `ReactorThread.enqueue`.
    func run()

    /// Called on the stopping thread after the reactor's threads have ended: closes everything that the member owns.
    func dismissed()
}

/// The events of a socket.
struct SocketEvents: OptionSet, Sendable {
    let rawValue: UInt8
    static let readable = SocketEvents(rawValue: 1)
    static let writable = SocketEvents(rawValue: 2)
    /// The peer closed its side, or the connection failed.
    static let hangUp = SocketEvents(rawValue: 4)
}

/// The kinds of members, which are counted separately.
enum ReactorMemberKind: Int, CaseIterable, Sendable {
    case stream, linger, connection, acceptor, question
}

/// The threads that run libmicrohttpd, watch the sockets that it released, and check all deadlines of this module.
struct Reactor: Sendable {
    /// The threads that serve connections.
    let threads: [ReactorThread]
    /// The thread that accepts and refuses them. Not one of the others: a flood of connections would delay what they
    /// serve.
    let entrance: ReactorThread

    private var all: [ReactorThread] { threads + [entrance] }

    /// Starts `count` threads and the entrance, with timers of `granularity` nanoseconds; nil if the system refuses one.
    init?(threads count: Int, granularity: UInt64, changed: @escaping @Sendable () -> Void) {
        var threads: [ReactorThread] = []
        for _ in 0...count {
            guard let thread = ReactorThread(granularity: granularity, changed: changed) else {
                threads.forEach { $0.halt() }
                return nil
            }
            threads.append(thread)
        }
        entrance = threads.removeLast()
        self.threads = threads
    }

    /// Returns the thread for a socket, always the same for a number.
    func thread(for descriptor: Int32) -> ReactorThread { threads[index(for: descriptor)] }

    /// Returns the index of `thread(for:)`.
    func index(for descriptor: Int32) -> Int { Int(descriptor) % threads.count }

    /// Calls `answer` after each thread has run its loop; never if they have ended.
    func ask(_ answer: @escaping @Sendable () -> Void) {
        let oneHas = countdown(from: all.count, then: answer)
        for thread in all { ReactorQuestion(thread, answer: oneHas).ask() }
    }

    func count(of kind: ReactorMemberKind) -> Int { all.reduce(0) { $0 + $1.count(of: kind) } }

    func members(of kind: ReactorMemberKind) -> [any ReactorMember] {
        all.flatMap { $0.members { $0 == kind } }
    }

    /// Ends the threads and waits for them. Members may still be added and removed.
    func halt() { all.forEach { $0.halt() } }

    /// After `halt`: makes all remaining members close what they own.
    func dismiss() {
        for thread in all {
            thread.members { _ in true }.forEach { $0.dismissed() }
            thread.runQueue()
        }
    }
}
