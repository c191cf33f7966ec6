import Glibc
import Locking

/// One connection's deadlines, from its opening to its close.
///
/// libmicrohttpd's own timeout starts anew with every byte, so a client that sends one now and then keeps its
/// connection; and it does not run while a connection is suspended.
final class ConnectionWatch: ReactorMember {
    /// What the connection is waiting for.
    enum Phase {
        /// The first request, or the rest of a head.
        case head
        case body
        /// The handler's answer; the response is sent if it does not come.
        case answer(Exchange, Response)
        /// Nothing that has a deadline of ours: being answered.
        case none
        /// The next request.
        case idle
    }

    private struct State {
        var id: UInt64 = 0
        var phase = Phase.head
        var deadline: UInt64
        var hasExpired = false
        /// The reactor's thread is in `shutdown` on the descriptor.
        var isShutting = false
        var isClosed = false
    }

    /// Over the connection limit: its first request is refused.
    let isSurplus: Bool
    private let descriptor: Int32
    private let timeouts: Timeouts
    private let thread: ReactorThread
    private let state: Lock<State>

    /// The configuration's timeouts in nanoseconds.
    struct Timeouts: Sendable {
        var head: UInt64
        var body: UInt64
        var answer: UInt64
        var idle: UInt64

        /// No deadline that is set later can come before the next look at the clock, if there is one this often.
        var shortest: UInt64 { min(head, body, answer, idle) }
    }

    init(descriptor: Int32, isSurplus: Bool, timeouts: Timeouts, thread: ReactorThread) {
        self.descriptor = descriptor
        self.isSurplus = isSurplus
        self.timeouts = timeouts
        self.thread = thread
        state = Lock(State(deadline: monotonicNow() + timeouts.head))
    }

    func start() {
        let id = thread.add(self, .connection, deadline: monotonicNow() + timeouts.shortest)
        state.withLock { $0.id = id }
    }

    /// Starts the phase's deadline.
    func enter(_ phase: Phase) {
        let timeout: UInt64? =
            switch phase {
            case .head: timeouts.head
            case .body: timeouts.body
            case .answer: timeouts.answer
            case .none: nil
            case .idle: timeouts.idle
            }
        let deadline = timeout.map { monotonicNow() + $0 } ?? .max
        state.withLock { state in
            state.phase = phase
            state.deadline = deadline
        }
    }

    /// Whether the connection was ended because its deadline passed.
    var hasExpired: Bool { state.withLock { $0.hasExpired } }

    /// The library is about to close the descriptor.
    func close() {
        let id = state.withLock { state in
            state.isClosed = true
            state.phase = .none
            return state.id
        }
        // For as long as one system call at most: the number must not be another socket's meanwhile.
        while state.withLock({ $0.isShutting }) { sched_yield() }
        thread.remove(id)
    }

    // MARK: ReactorMember

    func ready(_ events: SocketEvents) {}

    func run() {}

    func timeReached(_ now: UInt64) -> UInt64? {
        enum Action {
            case none
            case shut
            case answer(Exchange, Response)
        }
        let action: Action = state.withLock { state in
            guard !state.isClosed, now >= state.deadline else { return .none }
            state.deadline = .max
            if case .answer(let exchange, let response) = state.phase {
                state.phase = .none
                return .answer(exchange, response)
            }
            state.hasExpired = true
            state.isShutting = true
            return .shut
        }
        switch action {
        case .none: break
        case .answer(let exchange, let response): exchange.overrule(response)
        case .shut:
            // The library reads the end of input and lets go; our side stays open for a last word.
            shutdown(descriptor, Int32(SHUT_RD))
            state.withLock { $0.isShutting = false }
        }
        return state.withLock { $0.isClosed ? nil : min($0.deadline, now + timeouts.shortest) }
    }
}
