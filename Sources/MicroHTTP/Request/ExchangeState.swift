/// The state of a request's response: the pure part of `Exchange`.
///
/// Resuming a connection that is not suspended is undefined in libmicrohttpd. Here a resume comes from one place, once,
/// after its suspension.
struct ExchangeState<Connection> {
    private enum Phase {
        /// A `BodyHandler` runs on libmicrohttpd's thread. It may have responded.
        case running(Response?)
        /// The handler returned without a response. The library asks for it in each of its rounds.
        case waiting
        /// It waits for long, so the library does not ask until it is resumed.
        case suspended(Connection)
        /// The response is ready for libmicrohttpd's thread.
        case answered(Response)
        case completed
    }

    /// The number of vain questions after which a waiting request is suspended: a question costs a fraction of a
    /// microsecond, suspending and resuming a connection six system calls.
    static var patience: Int { 64 }

    private var phase = Phase.running(nil)
    private var questions = 0
    private var wasSuspended = false
    /// True if this module responded in place of the handler, whose late response is then dropped.
    private var isOverruled = false

    var name: String {
        switch phase {
        case .running: "running"
        case .waiting: "waiting"
        case .suspended: "suspended"
        case .answered: "answered"
        case .completed: "completed"
        }
    }

    /// The consequence of `respond`.
    enum RespondAction {
        case none
        /// Make the library ask.
        case ask
        /// Resume this connection.
        case resume(Connection)
        /// Drop the response, since this module responded first.
        case drop
        /// Reject the handler's second response.
        case refuse
    }

    mutating func respond(_ response: Response, overruling: Bool = false) -> RespondAction {
        let action: RespondAction
        switch phase {
        case .running(nil):
            phase = .running(response)
            action = .none
        case .waiting:
            phase = .answered(response)
            action = .ask
        case .suspended(let connection):
            phase = .answered(response)
            action = .resume(connection)
        case .running, .answered, .completed: return isOverruled || overruling ? .drop : .refuse
        }
        isOverruled = overruling
        return action
    }

    /// `handle` has returned: returns the response to send now, or nil to wait.
    mutating func handlerReturned() -> Response? {
        guard case .running(let response) = phase else { preconditionFailure("cannot return a handler when \(name)") }
        phase = response == nil ? .waiting : .completed
        return response
    }

    /// The reply to the library's question for a response.
    enum Answer {
        case response(Response, wasSuspended: Bool)
        case wait
        /// Suspend the connection, then call `suspended`.
        case suspend
    }

    mutating func ask() -> Answer {
        switch phase {
        case .answered(let response):
            phase = .completed
            return .response(response, wasSuspended: wasSuspended)
        case .waiting:
            questions += 1
            return questions < Self.patience ? .wait : .suspend
        case .running, .suspended, .completed: preconditionFailure("cannot ask for an answer when \(name)")
        }
    }

    /// The connection is suspended. Returns true if a response arrived meanwhile, to resume it.
    mutating func suspended(_ connection: Connection) -> Bool {
        wasSuspended = true
        switch phase {
        case .answered: return true
        case .waiting:
            phase = .suspended(connection)
            return false
        case .running, .suspended, .completed: preconditionFailure("cannot suspend when \(name)")
        }
    }

    /// The connection is gone. Returns a response that was not sent, and true if the request waited unsuspended.
    mutating func abandon() -> (response: Response?, wasWaiting: Bool) {
        defer {
            isOverruled = true
            phase = .completed
        }
        switch phase {
        case .running(let response): return (response, false)
        case .waiting: return (nil, true)
        case .answered(let response): return (response, !wasSuspended)
        case .completed: return (nil, false)
        case .suspended: preconditionFailure("cannot abandon when suspended")
        }
    }
}
