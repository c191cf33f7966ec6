import Glibc
import Locking
import Networks

/// The deadlines of one connection, from open to close.
///
/// libmicrohttpd's own timeout restarts with every byte, so that a slow sender keeps its connection, and it does not
/// run while a connection is suspended. The library also overlooks a client's end of input that arrived with the last
/// bytes, and keeps such a connection until a timeout. So the reactor watches for that end and wakes the library. A
/// client that reads a response a few bytes at a time is also cut off.
final class ConnectionWatch: ReactorMember, RequestConnection {
    /// The event that the connection waits for.
    enum Phase {
        /// The first request, or the rest of a head.
        case head
        case body
        /// The handler's response. The closure makes the one that is sent after the deadline.
        case answer(Exchange, () -> Response)
        /// The client's reading of the response.
        case writing
        /// No deadline of ours: the handler runs, or the socket is a stream's.
        case none
        /// The next request.
        case idle
    }

    private struct State {
        var id: UInt64 = 0
        var phase = Phase.head
        var deadline: UInt64
        var hasExpired = false
        /// Another network needs the connection's place: it is closed as soon as no handler has its request.
        var givesWay = false
        /// Released when the connection is closed.
        var place: NetworkPlaces.Place?
        /// The socket's own address, once a request has needed it.
        var local: PeerAddress?
        /// The client has closed its side.
        var hasHungUp = false
        /// See `RequestConnection`.
        var keepsake: (any AnyObject & Sendable)?
        /// Called when the client closes its side while its request is handled.
        var onLeave: (@Sendable () -> Void)?
        /// The reactor's thread is in `shutdown` on the descriptor.
        var isShutting = false
        var isClosed = false

        /// True if the library should read on.
        var isReading: Bool {
            switch phase {
            case .head, .body, .idle: true
            case .answer, .writing, .none: false
            }
        }

        /// Sets the remaining time of a connection that gives way: none, or a second for a response that is being
        /// written. A connection with a running handler or a stream continues. Returns the member to wake.
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

    /// The time after a client's end of input until the library, which may have been reading, is woken again.
    private static let reminder: UInt64 = 100_000_000

    /// The time for an incomplete head or body when the server stops.
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

        /// An interval of timer checks that no later deadline can fall into.
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
        // If this fails for lack of memory, the deadlines replace it.
        _ = thread.watch(descriptor, for: id, hangUpOnly: true)
        state.withLock { $0.place }?.onGiveWay { [weak self] in self?.giveWay() }
    }

    /// Starts the phase's deadline. Called on the loop's thread.
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
        let deadline = timeout.map { thread.roundTime + $0 } ?? .max
        let id = state.withLock { state -> UInt64? in
            state.phase = phase
            state.deadline = deadline
            switch phase {
            case .answer, .none: break
            case .head, .body, .writing, .idle: state.onLeave = nil
            }
            return state.hurryAway()
        }
        if let id { wake(id) }
    }

    private func wake(_ id: UInt64) { thread.setDeadline(monotonicNow(), for: id) }

    /// Ends the connection as soon as no handler has its request, because another network needs its place.
    func giveWay() {
        let id = state.withLock { state -> UInt64? in
            guard !state.isClosed, !state.givesWay else { return nil }
            state.givesWay = true
            return state.hurryAway()
        }
        if let id { wake(id) }
    }

    /// True if the connection ends because another network needs its place.
    var givesWay: Bool { state.withLock { $0.givesWay } }

    func onLeave(_ action: @escaping @Sendable () -> Void) {
        let hasLeft = state.withLock { state in
            let hasLeft = state.hasHungUp || state.isClosed
            state.onLeave = hasLeft ? nil : action
            return hasLeft
        }
        if hasLeft { action() }
    }

    /// Limits an incomplete head or body to another second, because the server stops.
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

    /// The socket's own address. Called while the library has the descriptor. Asks the system once.
    var localAddress: PeerAddress {
        if let known = state.withLock({ $0.local }) { return known }
        let address = PeerAddress(localOf: descriptor)
        state.withLock { $0.local = address }
        return address
    }

    var keepsake: (any AnyObject & Sendable)? {
        get { state.withLock { $0.keepsake } }
        set {
            // The former one is released outside the lock.
            _ = state.withLock { state in
                defer { state.keepsake = newValue }
                return state.keepsake
            }
        }
    }

    /// The exchange of a request that waits for its response.
    var exchange: Exchange? {
        state.withLock { state in
            if case .answer(let exchange, _) = state.phase { exchange } else { nil }
        }
    }

    /// True if the connection was ended by its deadline.
    var hasExpired: Bool { state.withLock { $0.hasExpired } }

    /// The library is about to close the descriptor.
    func close() {
        let (id, place, onLeave) = state.withLock { state in
            state.isClosed = true
            state.phase = .none
            return (state.id, state.place.take(), state.onLeave.take())
        }
        onLeave?()
        // Released here, outside the lock.
        _ = consume place
        // For one system call at most: the descriptor's number must not be reused meanwhile.
        while state.withLock({ $0.isShutting }) { sched_yield() }
        thread.unwatch(descriptor)
        thread.remove(id)
    }

    // MARK: ReactorMember

    func ready(_ events: SocketEvents) {
        guard events.contains(.hangUp) else { return }
        // Once: ending the input signals a hang-up again, and responding to that would loop until the library's thread
        // runs.
        let first = state.withLock { state -> (shuts: Bool, id: UInt64, onLeave: (@Sendable () -> Void)?)? in
            guard !state.hasHungUp else { return nil }
            state.hasHungUp = true
            state.isShutting = !state.isClosed && state.isReading
            return (state.isShutting, state.id, state.onLeave.take())
        }
        guard let (shuts, id, onLeave) = first else { return }
        if shuts { endInput() }
        onLeave?()
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

    /// Wakes the library, which reads the end of input and closes; our side stays open for a last response.
    private func endInput() {
        shutdown(descriptor, Int32(SHUT_RD))
        state.withLock { $0.isShutting = false }
    }

    /// Wakes the library, which can no longer write and closes. The kernel discards unsent data, which it would
    /// otherwise keep for as long as the client likes.
    private func cut() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        shutdown(descriptor, Int32(SHUT_RDWR))
        state.withLock { $0.isShutting = false }
    }
}
