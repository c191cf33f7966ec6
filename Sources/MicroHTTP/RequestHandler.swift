/// What answers requests. Its methods are called on libmicrohttpd's threads, several at once, and must not block.
public protocol RequestHandler: Sendable {
    /// Decides by the head alone, before any byte of the body and before `100 Continue`.
    ///
    /// Called once per request whose head is well-formed. A refusal of a request with a body ends the connection.
    func receive(_ head: RequestHead) -> HeadVerdict

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

    /// Takes the body, up to `bodyLimit` bytes or the configuration's, whichever is less, then has the request answered.
    case accept(bodyLimit: Int, BodyHandler)
}

/// Answers a request whose body is complete and without any transfer coding; empty if it has none.
///
/// Called at most once per accepted request, never when the client left earlier. `respond` is called once, now or later,
/// on any thread: a second call traps in debug builds and is
/// ignored in release ones. If the client has left, nothing is sent and a stream's source is closed with `.peerClosed`.
public typealias BodyHandler =
    @Sendable (_ body: [UInt8], _ respond: @escaping @Sendable (Response) -> Void) -> Void
