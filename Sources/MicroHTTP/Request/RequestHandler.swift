import Networks

/// What answers requests. Its methods are called on libmicrohttpd's threads, several at once, and must not block.
package protocol RequestHandler: Sendable {
    /// Decides by the head alone, before any byte of the body and before `100 Continue`.
    ///
    /// Called once per request whose head is well-formed. A refusal of a request with a body ends the connection.
    func receive(_ head: RequestHead) -> HeadVerdict

    /// The address of the client that a request is of, also where a proxy passed it on. On any thread of this layer; must not
    /// block.
    func client(of head: RequestHead) -> PeerAddress

    /// Words a refusal that this layer makes, so that it looks like the handler's own. On any thread of this layer.
    ///
    /// The fault's status is sent whatever the response says. `head` is the request's if it was well-formed and has
    /// arrived; a fault that meets a whole connection, or many requests at once, has none.
    func response(to fault: RequestFault, head: RequestHead?) -> Response

    /// Told of each answer once, when it is handed to the connection: the handler's own and those to faults. Not of
    /// answers whose client had left before. On any thread of this layer; must not block.
    func answered(_ answer: RequestAnswer)
}

extension RequestHandler {
    /// Who is at the other end of the connection.
    package func client(of head: RequestHead) -> PeerAddress { head.peer }

    package func answered(_ answer: RequestAnswer) {}
}

/// An answer on its way to its client.
package struct RequestAnswer: Sendable {
    /// The request's; nil where it was not well-formed, or a whole connection was refused.
    package let head: RequestHead?
    package let status: Int
    /// What the handler wrote on its response.
    package let mark: UInt16
    package let note: (any AnyObject & Sendable)?
    /// Bytes of the body, 0 for a stream.
    package let bodyBytes: Int
    package let isStream: Bool
    /// From the request's line to its answer; 0 where a connection was refused.
    package let nanoseconds: UInt64

    package init(_ response: Response, head: RequestHead?, nanoseconds: UInt64) {
        (self.head, self.nanoseconds) = (head, nanoseconds)
        (status, mark, note) = (response.status, response.mark, response.note)
        switch response.body {
        case .empty: (bodyBytes, isStream) = (0, false)
        case .bytes(let bytes): (bodyBytes, isStream) = (bytes.count, false)
        case .stream: (bodyBytes, isStream) = (0, true)
        }
    }
}

/// What `RequestHandler.receive` decides.
package enum HeadVerdict: Sendable {
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
package typealias BodyHandler =
    @Sendable (_ body: [UInt8], _ respond: @escaping @Sendable (Response) -> Void) -> Void

/// A refusal that this layer makes, before or instead of the handler.
package struct RequestFault: Error, Sendable, Equatable {
    /// What was wrong, in a form to switch over.
    package enum Reason: String, Sendable, CaseIterable {
        /// The head breaks the grammar of RFC 9112: 400.
        case malformedHead
        /// The target is neither a path nor an absolute `http` address of the `Host`: 400.
        case malformedTarget
        /// `Host` is missing, doubled or no host: 400.
        case badHost
        /// The body's length is said twice, or in a way that can be read in two ways: 400.
        case ambiguousLength
        /// The body came shorter than its length: 400.
        case bodyCutShort
        /// The transfer coding is not one that this server has: 501.
        case unknownTransferCoding
        /// The body took too long: 408.
        case requestTimeout
        /// The body is over the limit: 413.
        case bodyTooLarge
        /// The head is over the limit: 431.
        case headTooLarge
        /// The address has too many connections: 429.
        case tooManyConnections
        /// The bodies of all requests hold too much: 503.
        case noRoomForBody
        /// The handler did not answer in time: 503.
        case answerTimeout
        /// The server is stopping: 503.
        case shuttingDown
    }

    /// What was wrong.
    package let reason: Reason

    /// The response's status code.
    package var status: Int {
        switch reason {
        case .malformedHead, .malformedTarget, .badHost, .ambiguousLength, .bodyCutShort: 400
        case .requestTimeout: 408
        case .bodyTooLarge: 413
        case .headTooLarge: 431
        case .tooManyConnections: 429
        case .unknownTransferCoding: 501
        case .noRoomForBody, .answerTimeout, .shuttingDown: 503
        }
    }

    /// One sentence for the client: what was found and what is expected.
    package let detail: String

    /// A fault, as the layer makes it; public for handlers' tests.
    package init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
