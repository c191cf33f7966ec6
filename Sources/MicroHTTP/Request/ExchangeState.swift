/// The state of a request's response: the pure part of `Exchange`.
///
/// Resuming a connection that is not suspended is undefined in libmicrohttpd. Here a resume comes from one place, once,
/// after its suspension.
struct ExchangeState<Connection> {
    private enum Phase {
        /// A `BodyHandler` runs on libmicrohttpd's thread. It may have responded.
        case running(Response?)
        /// The handler returned without a response, and the thread is about to suspend the connection.
        case suspending(Response?)
        case suspended(Connection)
        /// The response is ready for libmicrohttpd's thread.
        case resuming(Response)
        case completed
    }

    private var phase = Phase.running(nil)
    /// True if this module responded in place of the handler, whose late response is then dropped.
    private var isOverruled = false

    var name: String {
        switch phase {
        case .running: "running"
        case .suspending: "suspending"
        case .suspended: "suspended"
        case .resuming: "resuming"
        case .completed: "completed"
        }
    }

    /// The consequence of `respond`.
    enum RespondAction {
        case none
        /// Resume this connection.
        case resume(Connection)
        /// Drop the response, since this module responded first.
        case drop
        /// Reject the handler's second response.
        case refuse
    }

    mutating func respond(_ response: Response, overruling: Bool = false) -> RespondAction {
        switch phase {
        case .running(nil): phase = .running(response)
        case .suspending(nil): phase = .suspending(response)
        case .suspended(let connection):
            phase = .resuming(response)
            isOverruled = overruling
            return .resume(connection)
        case .running, .suspending, .resuming, .completed: return isOverruled || overruling ? .drop : .refuse
        }
        isOverruled = overruling
        return .none
    }

    /// `handle` has returned: returns the response to send now, or nil to suspend.
    mutating func handlerReturned() -> Response? {
        guard case .running(let response) = phase else { preconditionFailure("cannot return a handler when \(name)") }
        phase = response == nil ? .suspending(nil) : .completed
        return response
    }

    /// The connection is suspended. Returns true if a response arrived meanwhile, to resume it.
    mutating func suspended(_ connection: Connection) -> Bool {
        guard case .suspending(let response) = phase else { preconditionFailure("cannot suspend when \(name)") }
        guard let response else {
            phase = .suspended(connection)
            return false
        }
        phase = .resuming(response)
        return true
    }

    /// Suspending is no longer possible: returns the present response, or `response` in place of the handler.
    mutating func notSuspended(_ response: Response) -> Response {
        guard case .suspending(let answer) = phase else { preconditionFailure("cannot answer at once when \(name)") }
        phase = .completed
        isOverruled = answer == nil
        return answer ?? response
    }

    /// Returns the response of a resumed connection.
    mutating func resumed() -> Response {
        guard case .resuming(let response) = phase else { preconditionFailure("cannot fetch an answer when \(name)") }
        phase = .completed
        return response
    }

    /// The connection is gone: returns a response that was not sent.
    mutating func abandon() -> Response? {
        defer {
            isOverruled = true
            phase = .completed
        }
        switch phase {
        case .running(let response), .suspending(let response): return response
        case .resuming(let response): return response
        case .completed: return nil
        case .suspended: preconditionFailure("cannot abandon when suspended")
        }
    }
}
