/// What answers requests. Its methods are called on libmicrohttpd's threads, several at once, and must not block.
public protocol RequestHandler: Sendable {
    /// Decides by the head alone, before any byte of the body and before `100 Continue`.
    ///
    /// Called once per request whose head is well-formed. A refusal of a request with a body ends the connection.
    func receive(_ head: RequestHead) -> HeadVerdict

    /// Answers a request whose body is complete, now or later, through `exchange`.
    ///
    /// Called at most once per accepted request, never when the client left earlier.
    func handle(_ request: Request, _ exchange: Exchange)

    /// Words a refusal that this layer makes, so that it looks like the handler's own. On any thread of this layer.
    ///
    /// The fault's status is sent whatever the response says. `head` is the request's if it was well-formed and has
    /// arrived; a fault that meets a whole connection, or many requests at once, has none.
    func response(to fault: RequestFault, head: RequestHead?) -> Response
}

/// What `RequestHandler.receive` decides.
public enum HeadVerdict: Sendable {
    /// Answers now and takes no body.
    case refuse(Response)

    /// Takes the body, up to `bodyLimit` bytes or the configuration's, whichever is less. `context` comes back in
    /// `Request.context`.
    case accept(bodyLimit: Int, context: (any Sendable)?)
}
