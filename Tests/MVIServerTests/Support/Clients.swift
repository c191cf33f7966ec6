import Networks
import TestSupport
import MicroHTTP
import Testing

@testable import MVIServer

/// The depth of a test: the same request, in memory or over a socket.
enum Depth: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory
    case socket

    var testDescription: String { rawValue }
}

/// Sends a request and waits for its answer.
protocol Client: Sendable {
    func exchange(_ request: TestRequest) async throws -> TestResponse
}

/// Calls the application as the HTTP layer does.
struct MemoryClient: Client {
    let application: Application

    func exchange(_ request: TestRequest) async throws -> TestResponse {
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var fields = request.fields
        if !fields.contains(where: { $0.name.lowercased() == "host" }) { fields.append(("Host", "localhost")) }
        if !request.body.isEmpty { fields.append(("Content-Length", "\(request.body.count)")) }
        let head = RequestHead(
            method: request.method, path: Array(parts[0].utf8), query: parts.count > 1 ? Array(parts[1].utf8) : nil,
            fields: HeaderFields(fields), peer: PeerAddress("127.0.0.1") ?? .unknown)
        let response: Response
        switch application.receive(head) {
        case .refuse(let refusal): response = refusal
        case .accept(_, let handler):
            response = await withCheckedContinuation { continuation in
                handler(request.body) { continuation.resume(returning: $0) }
            }
        }
        application.answered(RequestAnswer(response, head: head, nanoseconds: 1_000_000))
        return TestResponse(
            status: response.status, fields: response.fields.map { ($0.name, $0.value) },
            body: request.method == "HEAD" || response.status == 304 ? [] : bytes(response.body))
    }

    /// The first bytes of a stream.
    private func bytes(_ body: Response.Body) -> [UInt8] {
        switch body {
        case .empty: return []
        case .bytes(let bytes): return bytes
        case .stream(let source):
            var bytes: [UInt8] = []
            while true {
                switch source.nextStep() {
                case .write(let more), .writeAll(let more): bytes += more
                case .wait:
                    source.closed(.peerClosed)
                    return bytes
                case .finish(let last):
                    source.closed(.finished)
                    return bytes + last
                }
            }
        }
    }
}

/// One connection a request.
struct SocketClient: Client {
    let port: UInt16

    func exchange(_ request: TestRequest) async throws -> TestResponse {
        try await offThePool {
            let connection = try Connection(port: port)
            try connection.send(request, close: true)
            return try connection.response(to: request.method)
        }
    }
}
