import CMicroHTTPD
import Locking

/// A handle to the response of one request. It is a single reference, to the lock.
struct Exchange: Sendable {
    private struct State {
        var exchange = ExchangeState<OpaquePointer>()
        let register: WaitingExchanges
        /// The thread of the request's connection.
        let thread: ReactorThread?
    }

    private let state: Lock<State>

    init(_ register: WaitingExchanges, _ thread: ReactorThread?) {
        state = Lock(State(register: register, thread: thread))
    }

    /// Answers the request, from any thread, inside its `BodyHandler` or later. Call it exactly once: a second call
    /// traps in debug builds and is ignored in release builds. If the client has left, nothing is sent and a stream's
    /// source is closed with `.peerClosed`.
    func respond(_ response: Response) {
        precondition(200...599 ~= response.status, "a response's status is 200 to 599, not \(response.status)")
        let (action, thread) = state.withLock { ($0.exchange.respond(response), $0.thread) }
        switch action {
        case .none: break
        case .ask: thread?.requestRun()
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
        let (action, thread) = state.withLock { ($0.exchange.respond(response, overruling: true), $0.thread) }
        switch action {
        case .none, .drop, .refuse: break
        case .ask: thread?.requestRun()
        case .resume(let connection): resume(connection)
        }
    }

    /// The handler has returned: its response, or nil if the request waits from now on.
    func handlerReturned() -> Response? {
        let (response, register) = state.withLock { ($0.exchange.handlerReturned(), $0.register) }
        if response == nil { register.begin() }
        return response
    }

    /// Returns the response of a waiting request, if there is one, and true if the library no longer asks for it. Called
    /// on the library's thread, in its handler.
    ///
    /// A request that was asked often in vain is suspended: `MHD_run` then does not call its handler.
    func ask(_ connection: OpaquePointer) -> (response: Response?, endsWaiting: Bool) {
        let (answer, register) = state.withLock { ($0.exchange.ask(), $0.register) }
        switch answer {
        case .wait: return (nil, false)
        case .response(let response, wasSuspended: true):
            // It ends with the call that resumed it.
            return (response, false)
        case .response(let response, wasSuspended: false):
            register.end()
            return (response, true)
        case .suspend:
            MHD_suspend_connection(connection)
            // From here on, any thread may resume the connection; libmicrohttpd frees no suspended ones.
            if state.withLock({ $0.exchange.suspended(connection) }) { resume(connection) }
            return (nil, true)
        }
    }

    private func resume(_ connection: OpaquePointer) {
        MHD_resume_connection(connection)
        let (register, thread) = state.withLock { ($0.register, $0.thread) }
        // A daemon without threads is not woken by a resumption.
        thread?.requestRun()
        // Only now: the call may use the daemon after its thread has continued the connection, and the daemon is not
        // stopped before the register is empty.
        register.end()
    }

    /// The connection is gone. Returns true if the request was waiting.
    func abandon() -> Bool {
        let (abandoned, register) = state.withLock { ($0.exchange.abandon(), $0.register) }
        if abandoned.wasWaiting { register.end() }
        abandoned.response?.discard(.peerClosed)
        return abandoned.wasWaiting
    }
}

extension Response {
    /// Closes the source of a stream that is never opened.
    func discard(_ reason: StreamEnd) {
        if case .stream(let source) = body { source.closed(reason) }
    }
}
