import Locking
import MicroHTTP
import Networks

/// A request with its whole body.
struct Request: Sendable {
    let head: RequestHead
    let body: [UInt8]
}

/// A handle to a request's response.
struct Exchange: Sendable {
    let respond: @Sendable (Response) -> Void
}

/// A handler from closures, with faults as `reason: detail`.
struct TestHandler: RequestHandler {
    /// The decision by the head.
    enum Verdict {
        case refuse(Response)
        case accept(bodyLimit: Int)
    }

    var onReceive: @Sendable (RequestHead) -> Verdict
    var onHandle: @Sendable (Request, Exchange) -> Void
    var client: @Sendable (RequestHead) -> PeerAddress = { $0.peer }

    init(
        receive: @escaping @Sendable (RequestHead) -> Verdict = { _ in .accept(bodyLimit: .max) },
        handle: @escaping @Sendable (Request, Exchange) -> Void
    ) {
        onReceive = receive
        onHandle = handle
    }

    func client(of head: RequestHead) -> PeerAddress { client(head) }

    func receive(_ head: RequestHead) -> HeadVerdict {
        switch onReceive(head) {
        case .refuse(let response): .refuse(response)
        case .accept(let limit):
            .accept(bodyLimit: limit) { [onHandle] body, respond in
                onHandle(Request(head: head, body: body), Exchange(respond: respond))
            }
        }
    }

    func response(to fault: RequestFault, head: RequestHead?) -> Response {
        Response(
            status: 418, fields: [ResponseField("Content-Type", "application/problem+json")],
            body: .bytes(Array("\(fault.reason)".utf8)))
    }

    /// Answers with method, path, query and body, one a line.
    static let echo = TestHandler { request, exchange in
        exchange.respond(Response(status: 200, body: .bytes(describe(request))))
    }

    static func describe(_ request: Request) -> [UInt8] {
        Array("\(request.head.method)\n".utf8) + request.head.path + Array("\n".utf8) + (request.head.query ?? [])
            + Array("\n".utf8) + request.body
    }
}

extension Response {
    static func text(_ text: String, status: Int = 200) -> Response {
        Response(status: status, body: .bytes(Array(text.utf8)))
    }
}
