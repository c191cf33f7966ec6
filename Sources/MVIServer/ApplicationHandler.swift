import MicroHTTP

/// The application as the HTTP layer calls it.
struct ApplicationHandler: RequestHandler {
    let application: Application
    let bodyLimit: Int

    func receive(_ head: RequestHead) -> HeadVerdict {
        switch application.receive(head) {
        case .refuse(let response): .refuse(response)
        case .accept(let call): .accept(bodyLimit: bodyLimit, context: call)
        }
    }

    func handle(_ request: Request, _ exchange: Exchange) {
        guard let call = request.context as? Call else {
            preconditionFailure("a request was accepted without a call")
        }
        call.answer(request.body, Reply(terms: call.terms, send: { exchange.respond($0) }))
    }

    func response(to fault: RequestFault, head: RequestHead?) -> Response {
        application.response(to: fault, head: head)
    }
}
