import Locking
import MVITesting

@testable import MVIClient

/// Answers nothing by itself: a test does.
final class FakeTransport: Transport {
    struct Started: Sendable {
        let id: ExchangeID
        let request: HTTPRequest
        let told: @Sendable (TransportEvent) -> Void

        func answer(_ status: Int, _ body: String, type: String = "application/json") {
            told(.head(HTTPAnswer(status: status, fields: ["content-type": type])))
            told(.bytes(Array(body.utf8)))
            told(.end(nil))
        }

        /// Accepts a stream, and says hello.
        func accept() {
            told(.head(HTTPAnswer(status: 200, fields: ["content-type": "text/event-stream"])))
            write(#"event: hello"# + "\n" + #"data: {"session":"s1","epoch":"e1","heartbeat":20}"# + "\n\n")
        }

        func write(_ text: String) { told(.bytes(Array(text.utf8))) }

        func state(_ version: Int, _ json: String) {
            write("event: state\ndata: {\"feature\":\"tally\",\"version\":\(version),\"state\":\(json)}\n\n")
        }

        func label(_ id: String, _ json: String, expiresIn seconds: Int = 300) {
            let members = #""feature":"tally","version":1,"id":"\#(id)","expiresIn":\#(seconds),"label":\#(json)"#
            write("event: label\ndata: {\(members)}\n\n")
        }
    }

    let started = Collected<Started>()
    let cuts = Collected<ExchangeID>()
    let closed = Gate()

    func start(_ id: ExchangeID, _ request: HTTPRequest, told: @escaping @Sendable (TransportEvent) -> Void) {
        started.append(Started(id: id, request: request, told: told))
    }

    func cut(_ id: ExchangeID) { cuts.append(id) }
    func close() { closed.open() }

    /// The request of that number, from 1, once it was made.
    func request(_ number: Int) async -> Started { await started.atLeast(number)[number - 1] }

    /// The first request of a kind, once it was made.
    func request(where isWanted: (HTTPRequest) -> Bool) async -> Started {
        let started = await started.until { $0.contains { isWanted($0.request) } }
        guard let found = started.first(where: { isWanted($0.request) }) else { preconditionFailure("canceled") }
        return found
    }
}

/// Passes requests on, and may lose answers on the way back.
final class LossyTransport: Transport {
    private let real: URLSessionTransport
    private let losses: Lock<Int>
    let requests = Collected<HTTPRequest>()
    let received = Collected<[UInt8]>()
    /// The answers that were lost, as soon as the client knows.
    let lost = Collected<ExchangeID>()

    /// - Parameter losses: how many answers to intents are lost.
    init(_ real: URLSessionTransport, losses: Int = 0) {
        self.real = real
        self.losses = Lock(losses)
    }

    func start(_ id: ExchangeID, _ request: HTTPRequest, told: @escaping @Sendable (TransportEvent) -> Void) {
        requests.append(request)
        let isLost =
            request.target.hasSuffix("/intents")
            && losses.withLock { losses in
                defer { losses -= 1 }
                return losses > 0
            }
        real.start(id, request) { [received, lost] event in
            if case .bytes(let bytes) = event { received.append(bytes) }
            guard isLost else { return told(event) }
            // The server has answered: the intent ran.
            guard case .end = event else { return }
            told(.end(TransportFailure(message: "lost")))
            lost.append(id)
        }
    }

    func cut(_ id: ExchangeID) { real.cut(id) }
    func close() { real.close() }
}
