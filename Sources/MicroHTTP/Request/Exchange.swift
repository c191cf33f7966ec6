import CMicroHTTPD
import Locking

/// The place for one request's answer. One reference, to the lock.
struct Exchange: Sendable {
    private struct State {
        var exchange = ExchangeState<OpaquePointer>()
        let register: SuspendedExchanges
    }

    private let state: Lock<State>

    init(_ register: SuspendedExchanges) {
        state = Lock(State(register: register))
    }

    /// Tells it from others, as long as it lives.
    var id: ObjectIdentifier { state.id }

    /// Answers the request, from any thread, within its `BodyHandler` or later. Exactly once: a second call
    /// traps in debug builds and is ignored in release ones. If the client has left, nothing is sent and a stream's
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

    /// Answers in the handler's stead, unless it has answered.
    func overrule(_ response: Response) {
        if case .resume(let connection) = state.withLock({ $0.exchange.respond(response, overruling: true) }) {
            resume(connection)
        }
    }

    func handlerReturned() -> Response? { state.withLock { $0.exchange.handlerReturned() } }

    /// Suspends the connection until there is an answer. On libmicrohttpd's thread, in its handler. False: the server
    /// is stopping, nothing may be suspended any more.
    func suspend(_ connection: OpaquePointer) -> Bool {
        guard state.withLock({ $0.register }).insert(self) else { return false }
        MHD_suspend_connection(connection)
        // From here on any thread may resume it; libmicrohttpd frees nothing that is suspended.
        if state.withLock({ $0.exchange.suspended(connection) }) { resume(connection) }
        return true
    }

    func answerWithoutSuspending(_ response: Response) -> Response {
        state.withLock { $0.exchange.notSuspended(response) }
    }

    private func resume(_ connection: OpaquePointer) {
        MHD_resume_connection(connection)
        // Only now: the call still uses the daemon after its thread may have seen the connection, and the daemon is
        // not stopped before the register is empty.
        state.withLock { $0.register }.remove(self)
    }

    func resumed() -> Response { state.withLock { $0.exchange.resumed() } }

    func abandon() { state.withLock { $0.exchange.abandon() }?.discard(.peerClosed) }
}

extension Response {
    /// Tells the source of a stream that will not be shown.
    func discard(_ reason: StreamEnd) {
        if case .stream(let source) = body { source.closed(reason) }
    }
}

/// The exchanges whose connections are suspended, so that none is left when the daemon stops: libmicrohttpd aborts
/// the process if one is.
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

    /// False once the register is closed.
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

    /// Takes in no more, and gives those that are left.
    func close() -> [Exchange] {
        state.withLock { state in
            state.isClosed = true
            return Array(state.exchanges.values)
        }
    }
}
