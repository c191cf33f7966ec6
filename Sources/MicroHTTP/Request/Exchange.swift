import CMicroHTTPD
import Locking

/// A handle to the response of one request. It is a single reference, to the lock.
struct Exchange: Sendable {
    private struct State {
        var exchange = ExchangeState<OpaquePointer>()
        let register: SuspendedExchanges
    }

    private let state: Lock<State>

    init(_ register: SuspendedExchanges) {
        state = Lock(State(register: register))
    }

    /// An identifier that is unique for its lifetime.
    var id: ObjectIdentifier { state.id }

    /// Answers the request, from any thread, inside its `BodyHandler` or later. Call it exactly once: a second call
    /// traps in debug builds and is ignored in release builds. If the client has left, nothing is sent and a stream's
    /// source is closed with `.peerClosed`.
    func respond(_ response: Response) {
        precondition(200...599 ~= response.status, "a response's status is 200 to 599, not \(response.status)")
        switch state.withLock({ $0.exchange.respond(response) }) {
        case .none: break
        case .resume(let connection): resume(connection)
        case .drop: response.discard(.shutdown)
        case .refuse:
            assertionFailure("cannot respond twice: the exchange is \(state.withLock { $0.exchange.name })")
            response.discard(.error)
        }
    }

    // MARK: For this layer

    /// Responds in place of the handler, unless it has responded.
    func overrule(_ response: Response) {
        if case .resume(let connection) = state.withLock({ $0.exchange.respond(response, overruling: true) }) {
            resume(connection)
        }
    }

    func handlerReturned() -> Response? { state.withLock { $0.exchange.handlerReturned() } }

    /// Suspends the connection until there is a response. Called on libmicrohttpd's thread, in its handler. Returns
    /// false if the server is stopping and nothing may be suspended.
    func suspend(_ connection: OpaquePointer) -> Bool {
        guard state.withLock({ $0.register }).insert(self) else { return false }
        MHD_suspend_connection(connection)
        // From here on, any thread may resume the connection; libmicrohttpd frees no suspended ones.
        if state.withLock({ $0.exchange.suspended(connection) }) { resume(connection) }
        return true
    }

    func answerWithoutSuspending(_ response: Response) -> Response {
        state.withLock { $0.exchange.notSuspended(response) }
    }

    private func resume(_ connection: OpaquePointer) {
        MHD_resume_connection(connection)
        // Only now: the call may use the daemon after its thread has continued the connection, and the daemon is not
        // stopped before the register is empty.
        state.withLock { $0.register }.remove(self)
    }

    func resumed() -> Response { state.withLock { $0.exchange.resumed() } }

    func abandon() { state.withLock { $0.exchange.abandon() }?.discard(.peerClosed) }
}

extension Response {
    /// Closes the source of a stream that is never opened.
    func discard(_ reason: StreamEnd) {
        if case .stream(let source) = body { source.closed(reason) }
    }
}

/// The exchanges with suspended connections. All must be resumed before the daemon stops: otherwise libmicrohttpd
/// aborts the process.
final class SuspendedExchanges: Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isClosed = false
    }

    private let state = Lock(State())
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) {
        self.changed = changed
    }

    var count: Int { state.withLock { $0.exchanges.count } }

    /// Returns false if the register is closed.
    func insert(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.exchanges[exchange.id] = exchange
            return true
        }
    }

    func remove(_ exchange: Exchange) {
        let removed = state.withLock { $0.exchanges.removeValue(forKey: exchange.id) }
        if removed != nil { changed() }
    }

    /// Closes the register and returns the remaining exchanges.
    func close() -> [Exchange] {
        state.withLock { state in
            state.isClosed = true
            return Array(state.exchanges.values)
        }
    }
}
