import Locking
import PostgresServer
import TestSupport
import Testing

@testable import MVIServer

@Suite("Requests between nodes over HTTP", .timeLimit(.minutes(1)))
struct HTTPPeerTransportTests {
    private func request(_ method: String = "POST", timeout: Duration = .seconds(50)) -> PeerRequest {
        PeerRequest(
            method: method, target: "/features/item:1/intents?a=%2F",
            fields: [("host", "shop.example"), ("prefer", "wait=1")],
            body: method == "GET" ? [] : Array("{}".utf8), timeout: timeout, longestAnswer: 1_000)
    }

    /// Sends a request with a client of its own.
    private func outcome(
        _ address: String, _ request: PeerRequest
    ) async -> Result<PeerResponse, PeerError> {
        let transport = HTTPPeerTransport()
        let result: Result<PeerResponse, PeerError>
        do throws(PeerError) { result = .success(try await transport.send(request, to: address)) } catch {
            result = .failure(error)
        }
        await transport.close()
        return result
    }

    private func failure(_ address: String, _ request: PeerRequest) async -> PeerError.Outcome? {
        if case .failure(let error) = await outcome(address, request) { error.outcome } else { nil }
    }

    @Test("the request arrives unchanged, and so does the answer")
    func exchange() async throws {
        let peer = try RawServer(
            .whole("HTTP/1.1 422 Refused\r\nContent-Length: 5\r\nETag: \"a\"\r\nX: 1\r\nX: 2\r\n\r\nhello"))
        defer { peer.stop() }
        let answer = try await outcome(peer.address, request()).get()
        #expect(answer.status == 422 && answer.body == Array("hello".utf8))
        #expect(answer.fields.map { "\($0.name)=\($0.value)" }.suffix(3) == [#"ETag="a""#, "X=1", "X=2"])
        let lines = try #require(peer.requests.first).split(separator: "\r\n").map(String.init)
        #expect(lines[0] == "POST /features/item:1/intents?a=%2F HTTP/1.1")
        #expect(lines.map { $0.lowercased() }.filter { $0.hasPrefix("host:") } == ["host: shop.example"])
        #expect(lines.contains("prefer: wait=1"))
        #expect(lines.contains { $0.lowercased() == "content-length: 2" })
    }

    @Test("without a listener nothing was sent", arguments: ["POST", "GET", "DELETE"])
    func refused(method: String) async throws {
        let peer = try RawServer(.whole(""))
        peer.stop()
        await peer.untilStopped()
        #expect(await failure(peer.address, request(method)) == .notSent)
    }

    @Test(
        "nothing is sent to a malformed address or an unknown host",
        arguments: ["", "no such host:80", "host.invalid:80"])
    func noHost(address: String) async {
        #expect(await failure(address, request()) == .notSent)
    }

    @Test(
        "with an incomplete or missing answer the outcome is unknown",
        arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "garbage\r\n\r\n"])
    func cut(text: String) async throws {
        let peer = try RawServer(.whole(text))
        defer { peer.stop() }
        #expect(await failure(peer.address, request()) == .unknown)
        #expect(peer.requests.count == 1)
    }

    @Test(
        "a slow answer times out",
        arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"])
    func slow(text: String) async throws {
        let peer = try RawServer(.held(text))
        defer { peer.stop() }
        #expect(await failure(peer.address, request(timeout: .milliseconds(200))) == .unknown)
    }

    @Test("an answer is limited in size, with a length or without")
    func size() async throws {
        func answer(_ count: Int, _ length: String) -> String {
            "HTTP/1.1 200 OK\r\n\(length)\r\n" + String(repeating: "x", count: count)
        }
        for (count, isTaken) in [(1_000, true), (1_001, false), (100_000, false)] {
            for length in ["Content-Length: \(count)\r\n", "Connection: close\r\n"] {
                let peer = try RawServer(.whole(answer(count, length)))
                defer { peer.stop() }
                let result = await outcome(peer.address, request())
                switch result {
                case .success(let answer): #expect(isTaken && answer.body.count == count)
                case .failure(let error): #expect(!isTaken, "\(error)")
                }
            }
        }
    }

    @Test("a redirect is an answer, and is not followed")
    func redirect() async throws {
        let peer = try RawServer(.whole("HTTP/1.1 307 Elsewhere\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"))
        defer { peer.stop() }
        #expect(try await outcome(peer.address, request()).get().status == 307)
        #expect(peer.requests.count == 1)
    }

    @Test("a request on a persistent connection that ends is not sent again", arguments: ["POST", "DELETE"])
    func keptConnection(method: String) async throws {
        let count = Lock(0)
        let peer = try RawServer { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? .kept("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") : .whole("")
        }
        defer { peer.stop() }
        let transport = HTTPPeerTransport()
        #expect(try await transport.send(request(method), to: peer.address).status == 200)
        let error = await #expect(throws: PeerError.self) {
            try await transport.send(request(method), to: peer.address)
        }
        #expect(error?.outcome == .unknown)
        #expect(peer.requests.count == 2)
        await transport.close()
    }

    @Test("a connection is kept for the next request")
    func pooling() async throws {
        try await TestServer.run(.socket) { server in
            let transport = HTTPPeerTransport()
            for _ in 0..<5 {
                let live = PeerRequest(
                    method: "GET", target: "/health/live", fields: [], timeout: .seconds(50), longestAnswer: 1_000)
                let answer = try await transport.send(live, to: "127.0.0.1:\(server.port)")
                #expect(answer.status == 200)
                #expect(server.assembly.http.statistics.openConnections == 1)
            }
            await transport.close()
        }
    }
}
