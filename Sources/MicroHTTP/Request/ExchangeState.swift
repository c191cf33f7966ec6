/// Where a request's answer is: the pure part of `Exchange`.
///
/// libmicrohttpd leaves it undefined what happens when a connection is resumed that is not suspended. Here a resume
/// comes out of one place, once, after the suspension it belongs to.
struct ExchangeState<Connection> {
    private enum Phase {
        /// A `BodyHandler` is on libmicrohttpd's thread; perhaps it has answered.
        case running(Response?)
        /// It has returned without an answer, and the thread is about to suspend the connection.
        case suspending(Response?)
        case suspended(Connection)
        /// Answered; libmicrohttpd's thread will fetch the answer.
        case resuming(Response)
        case completed
    }

    private var phase = Phase.running(nil)
    /// Whether this layer answered in the handler's stead, whose own answer then comes too late and harmlessly.
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

    /// What `respond` leads to.
    enum RespondAction {
        case none
        /// Resume this connection.
        case resume(Connection)
        /// Too late because of us: drop the response.
        case drop
        /// The handler's second answer.
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

    /// `handle` has returned: the answer to send now, or nil to suspend.
    mutating func handlerReturned() -> Response? {
        guard case .running(let response) = phase else { preconditionFailure("cannot return a handler when \(name)") }
        phase = response == nil ? .suspending(nil) : .completed
        return response
    }

    /// The connection is suspended. True: an answer came meanwhile, resume it.
    mutating func suspended(_ connection: Connection) -> Bool {
        guard case .suspending(let response) = phase else { preconditionFailure("cannot suspend when \(name)") }
        guard let response else {
            phase = .suspended(connection)
            return false
        }
        phase = .resuming(response)
        return true
    }

    /// Nothing may be suspended any more: the answer that has come, else `response` in the handler's stead.
    mutating func notSuspended(_ response: Response) -> Response {
        guard case .suspending(let answer) = phase else { preconditionFailure("cannot answer at once when \(name)") }
        phase = .completed
        isOverruled = answer == nil
        return answer ?? response
    }

    /// The resumed connection fetches its answer.
    mutating func resumed() -> Response {
        guard case .resuming(let response) = phase else { preconditionFailure("cannot fetch an answer when \(name)") }
        phase = .completed
        return response
    }

    /// The connection is gone: an answer that was not fetched.
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
