import Glibc
import Locking
import Networks

/// One connection's deadlines, from its opening to its close.
///
/// libmicrohttpd's own timeout starts anew with every byte, so a client that sends one now and then keeps its
/// connection; and it does not run while a connection is suspended. It also overlooks the end of a client's side that
/// arrived with the last bytes before it, and would keep such a connection until a timeout. So the reactor watches
/// for that end and has the library look again. A client that takes an answer a few bytes at a time is cut off, too.
final class ConnectionWatch: ReactorMember {
    /// What the connection is waiting for.
    enum Phase {
        /// The first request, or the rest of a head.
        case head
        case body
        /// The handler's answer; the response is made and sent if it does not come.
        case answer(Exchange, () -> Response)
        /// The client's taking of what is written to it.
        case writing
        /// Nothing that has a deadline of ours: the handler runs, or the socket is a stream's.
        case none
        /// The next request.
        case idle
    }

    private struct State {
        var id: UInt64 = 0
        var phase = Phase.head
        var deadline: UInt64
        var hasExpired = false
        /// Another network needs what the connection has: it is closed as soon as no handler has its request.
        var givesWay = false
        /// Left when the connection is closed.
        var place: NetworkPlaces.Place?
        /// The client has closed its side.
        var hasHungUp = false
        /// The reactor's thread is in `shutdown` on the descriptor.
        var isShutting = false
        var isClosed = false

        /// Whether the library is to read on.
        var isReading: Bool {
            switch phase {
            case .head, .body, .idle: true
            case .answer, .writing, .none: false
            }
        }

        /// What a connection that gives way has left: nothing, or a second for an answer that is being written. One whose
        /// request a handler has, or that is a stream's, goes on. Returns whom to wake for it.
        mutating func hurryAway() -> UInt64? {
            guard givesWay else { return nil }
            switch phase {
            case .answer, .none: return nil
            case .head, .body, .idle: deadline = 0
            case .writing: deadline = min(deadline, monotonicNow() + ConnectionWatch.lastRequest)
            }
            return id
        }
    }

    /// How long after a client's end the library is told once more: it may have been about to read the last bytes.
    private static let reminder: UInt64 = 100_000_000

    /// How long a head or a body may take that is on its way when the server stops.
    static let lastRequest: UInt64 = 1_000_000_000

    private let descriptor: Int32
    private let timeouts: Timeouts
    private let thread: ReactorThread
    private let state: Lock<State>

    /// The configuration's timeouts in nanoseconds.
    struct Timeouts: Sendable {
        var head: UInt64
        var body: UInt64
        var answer: UInt64
        var write: UInt64
        var idle: UInt64

        /// No deadline that is set later can come before the next look at the clock, if there is one this often.
        var shortest: UInt64 { min(head, body, answer, write, idle) }
    }

    init(descriptor: Int32, timeouts: Timeouts, thread: ReactorThread, place: NetworkPlaces.Place? = nil) {
        self.descriptor = descriptor
        self.timeouts = timeouts
        self.thread = thread
        state = Lock(State(deadline: monotonicNow() + timeouts.head, place: place))
    }

    func start() {
        let id = thread.add(self, .connection, deadline: monotonicNow() + timeouts.shortest)
        state.withLock { $0.id = id }
        // Without it, for lack of memory in the system, the deadlines do what it would have done.
        _ = thread.watch(descriptor, for: id, hangUpOnly: true)
        state.withLock { $0.place }?.onGiveWay { [weak self] in self?.giveWay() }
    }

    /// Starts the phase's deadline.
    func enter(_ phase: Phase) {
        let timeout: UInt64? =
            switch phase {
            case .head: timeouts.head
            case .body: timeouts.body
            case .answer: timeouts.answer
            case .writing: timeouts.write
            case .none: nil
            case .idle: timeouts.idle
            }
        let deadline = timeout.map { monotonicNow() + $0 } ?? .max
        let id = state.withLock { state -> UInt64? in
            state.phase = phase
            state.deadline = deadline
            return state.hurryAway()
        }
        if let id { wake(id) }
    }

    private func wake(_ id: UInt64) { thread.setDeadline(monotonicNow(), for: id) }

    /// Ends the connection as soon as no handler has its request: another network needs what it has.
    func giveWay() {
        let id = state.withLock { state -> UInt64? in
            guard !state.isClosed, !state.givesWay else { return nil }
            state.givesWay = true
            return state.hurryAway()
        }
        if let id { wake(id) }
    }

    /// Whether the connection ends for another network's sake.
    var givesWay: Bool { state.withLock { $0.givesWay } }

    /// The server stops: a head or a body that is on its way has a second left.
    func hurryRequest() {
        let deadline = monotonicNow() + Self.lastRequest
        let id = state.withLock { state -> UInt64? in
            guard !state.isClosed, deadline < state.deadline else { return nil }
            switch state.phase {
            case .head, .body:
                state.deadline = deadline
                return state.id
            case .answer, .writing, .none, .idle: return nil
            }
        }
        if let id { thread.setDeadline(deadline, for: id) }
    }

    /// Whether the connection was ended because its deadline passed.
    var hasExpired: Bool { state.withLock { $0.hasExpired } }

    /// The library is about to close the descriptor.
    func close() {
        let (id, place) = state.withLock { state in
            state.isClosed = true
            state.phase = .none
            return (state.id, state.place.take())
        }
        // Left here, outside the lock.
        _ = consume place
        // For as long as one system call at most: the number must not be another socket's meanwhile.
        while state.withLock({ $0.isShutting }) { sched_yield() }
        thread.unwatch(descriptor)
        thread.remove(id)
    }

    // MARK: ReactorMember

    func ready(_ events: SocketEvents) {
        guard events.contains(.hangUp) else { return }
        // Once: ending the input is itself signalled as a hang-up, and answering that would go round and round until
        // the library's thread comes by.
        let first = state.withLock { state -> (shuts: Bool, id: UInt64)? in
            guard !state.hasHungUp else { return nil }
            state.hasHungUp = true
            state.isShutting = !state.isClosed && state.isReading
            return (state.isShutting, state.id)
        }
        guard let (shuts, id) = first else { return }
        if shuts { endInput() }
        thread.setDeadline(monotonicNow() + Self.reminder, for: id)
    }

    func run() {}

    /// The library closes the descriptor.
    func dismissed() {}

    func timeReached(_ now: UInt64) -> UInt64? {
        enum Action {
            case none
            case shut
            case cut
            case answer(Exchange, () -> Response)
        }
        let action: Action = state.withLock { state in
            let isDue = now >= state.deadline
            guard !state.isClosed, isDue || state.hasHungUp && state.isReading else { return .none }
            if isDue { state.deadline = .max }
            if case .answer(let exchange, let late) = state.phase {
                state.phase = .none
                return .answer(exchange, late)
            }
            state.hasExpired = state.hasExpired || isDue
            state.isShutting = true
            if case .writing = state.phase { return .cut }
            return .shut
        }
        switch action {
        case .none: break
        case .answer(let exchange, let late): exchange.overrule(late())
        case .shut: endInput()
        case .cut: cut()
        }
        return state.withLock { state in
            guard !state.isClosed else { return nil }
            return min(state.deadline, now + (state.hasHungUp ? Self.reminder : timeouts.shortest))
        }
    }

    /// The library, woken, reads the end of input and lets go; our side stays open for a last word.
    private func endInput() {
        shutdown(descriptor, Int32(SHUT_RD))
        state.withLock { $0.isShutting = false }
    }

    /// The library, woken, finds that it cannot write any more and lets go; what the kernel still holds for the client
    /// goes with it, or it would be kept as long as the client likes.
    private func cut() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        shutdown(descriptor, Int32(SHUT_RDWR))
        state.withLock { $0.isShutting = false }
    }
}
