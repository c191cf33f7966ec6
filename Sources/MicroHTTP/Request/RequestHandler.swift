import Networks

/// The handler of requests. Its methods are called on libmicrohttpd's threads, concurrently, and must not block.
package protocol RequestHandler: Sendable {
    /// Decides by the head alone, before any byte of the body and before `100 Continue`.
    ///
    /// Called once for each request with a well-formed head. Refusing a request with a body ends the connection.
    func receive(_ head: RequestHead) -> HeadVerdict

    /// Returns the address of the request's client, also if a proxy forwarded it. Called on any thread of this module;
    /// must not block.
    func client(of head: RequestHead) -> PeerAddress

    /// Returns the response to a refusal by this module, in the handler's format. Called on any thread of this module.
    ///
    /// The fault's status overrides the response's. `head` is nil if it was malformed or incomplete, or if the fault
    /// concerns a whole connection or many requests at once.
    func response(to fault: RequestFault, head: RequestHead?) -> Response

    /// Called once for each response when it is queued: the handler's own and those to faults, but not if the client
    /// had left before. Called on any thread of this module; must not block.
    func answered(_ answer: RequestAnswer)
}

extension RequestHandler {
    /// Returns the address of the connection's peer.
    package func client(of head: RequestHead) -> PeerAddress { head.peer }

    package func answered(_ answer: RequestAnswer) {}
}

/// A response that was queued.
package struct RequestAnswer: Sendable {
    /// The request's head; nil if it was malformed, or if a whole connection was refused.
    package let head: RequestHead?
    package let status: Int
    /// The mark that the handler set on its response.
    package let mark: UInt16
    package let note: (any AnyObject & Sendable)?
    /// The size of the body in bytes; 0 for a stream.
    package let bodyBytes: Int
    package let isStream: Bool
    /// The time from the request's line to its response; 0 for a refused connection.
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

/// The decision of `RequestHandler.receive`.
package enum HeadVerdict: Sendable {
    /// Responds now without reading a body.
    case refuse(Response)

    /// Reads the body, up to the lower of `bodyLimit` and the configuration's limit in bytes, then calls the handler.
    case accept(bodyLimit: Int, BodyHandler)
}

/// Answers a request with its complete and decoded body, which is empty if there is none.
///
/// Called at most once for each accepted request, never if the client left earlier. Call `respond` once, now or later,
/// on any thread: a second call traps in debug builds and is ignored in release builds. If the client has left, nothing
/// is sent and a stream's source is closed with `.peerClosed`.
package typealias BodyHandler =
    @Sendable (_ body: [UInt8], _ respond: @escaping @Sendable (Response) -> Void) -> Void

/// A refusal by this module, before or in place of the handler.
package struct RequestFault: Error, Sendable, Equatable {
    /// The machine-readable reason.
    package enum Reason: String, Sendable, CaseIterable {
        /// The head breaks the grammar of RFC 9112: 400.
        case malformedHead
        /// The target is neither a path nor an absolute `http` URL of the `Host`: 400.
        case malformedTarget
        /// `Host` is missing, repeated or invalid: 400.
        case badHost
        /// The body's length is given twice or is ambiguous: 400.
        case ambiguousLength
        /// The body was shorter than its length: 400.
        case bodyCutShort
        /// The transfer coding is not supported: 501.
        case unknownTransferCoding
        /// The body took too long: 408.
        case requestTimeout
        /// The body exceeds the limit: 413.
        case bodyTooLarge
        /// The head exceeds the limit: 431.
        case headTooLarge
        /// The address has too many connections: 429.
        case tooManyConnections
        /// The budget of all bodies is used up: 503.
        case noRoomForBody
        /// The handler did not respond in time: 503.
        case answerTimeout
        /// The server is stopping: 503.
        case shuttingDown
    }

    /// The reason.
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

    /// A sentence for the client with the problem and the expectation.
    package let detail: String

    static let stopping = RequestFault(.shuttingDown, "The server is stopping. Try again in a moment.")

    /// Creates a fault; public for handlers' tests.
    package init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
