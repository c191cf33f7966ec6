import Locking
import MicroHTTP

/// A handler made of closures, that words faults as `reason: detail`.
struct TestHandler: RequestHandler {
    var onReceive: @Sendable (RequestHead) -> HeadVerdict = { _ in .accept(bodyLimit: .max, context: nil) }
    var onHandle: @Sendable (Request, Exchange) -> Void

    init(
        receive: @escaping @Sendable (RequestHead) -> HeadVerdict = { _ in .accept(bodyLimit: .max, context: nil) },
        handle: @escaping @Sendable (Request, Exchange) -> Void
    ) {
        onReceive = receive
        onHandle = handle
    }

    func receive(_ head: RequestHead) -> HeadVerdict { onReceive(head) }
    func handle(_ request: Request, _ exchange: Exchange) { onHandle(request, exchange) }
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
