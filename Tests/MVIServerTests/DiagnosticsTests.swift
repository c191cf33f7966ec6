import MicroHTTP
import Testing

@testable import MVIServer

@Suite("Requests as they arrived")
struct DiagnosticsTests {
    private struct Arrival: Decodable {
        var http: String
        var keepsConnection: Bool
        var forwarded: String
        var client: String?
        var clientIsTrusted: Bool?
    }

    /// Sends a request from 127.0.0.1 over a socket.
    private func arrival(
        _ fields: [(name: String, value: String)], trusted: [String] = []
    ) async throws -> Arrival {
        try await TestServer.run(.socket, { $0.trustedProxies = trusted.compactMap { AddressRange($0) } }) { server in
            try await server.send(TestRequest("GET", "/diagnostics/request", fields)).json(Arrival.self)
        }
    }

    struct Row: Sendable {
        var fields: [(name: String, value: String)] = []
        var trusted: [String] = []
        var forwarded: String
        var client: String?
    }

    @Test(
        "the use of the client's address, without private addresses",
        arguments: [
            Row(forwarded: "none"),
            Row(fields: [("X-Forwarded-For", "203.0.113.9")], forwarded: "untrusted"),
            Row(fields: [("Forwarded", "for=203.0.113.9")], forwarded: "untrusted"),
            Row(trusted: ["127.0.0.1"], forwarded: "missing"),
            Row(
                fields: [("X-Forwarded-For", "203.0.113.9")], trusted: ["127.0.0.1"], forwarded: "used",
                client: "203.0.113.9"),
            Row(
                fields: [("X-Forwarded-For", "192.0.2.77, 203.0.113.9")], trusted: ["127.0.0.1"], forwarded: "used",
                client: "203.0.113.9"),
            Row(
                fields: [("X-Forwarded-For", "203.0.113.9, 10.1.2.3")], trusted: ["127.0.0.1"], forwarded: "used",
                client: "private"),
            Row(
                fields: [("X-Forwarded-For", "fd00::1")], trusted: ["127.0.0.1"], forwarded: "used",
                client: "private"),
            Row(fields: [("X-Forwarded-For", "::1")], trusted: ["127.0.0.1"], forwarded: "used", client: "loopback"),
            Row(
                fields: [("X-Forwarded-For", "::1")], trusted: ["127.0.0.1", "::1"], forwarded: "used",
                client: "loopback"),
            Row(fields: [("X-Forwarded-For", "somebody")], trusted: ["127.0.0.1"], forwarded: "unclear"),
            Row(
                fields: [("X-Forwarded-For", "203.0.113.9"), ("Forwarded", "for=192.0.2.77")],
                trusted: ["127.0.0.1"], forwarded: "unclear"),
        ])
    func forwarded(row: Row) async throws {
        let arrival = try await arrival(row.fields, trusted: row.trusted)
        #expect(arrival.forwarded == row.forwarded)
        #expect(arrival.client == row.client)
        #expect(arrival.clientIsTrusted == row.client.map { $0 == "loopback" && row.trusted.contains("::1") })
        #expect(arrival.http == "1.1")
    }

    @Test("HTTP/1.0 and connections that are closed")
    func connection() {
        func arrival(isHTTP10: Bool, _ connection: String?) -> (http: String, keeps: Bool) {
            let head = RequestHead(
                method: "GET", path: Array("/diagnostics/request".utf8), isHTTP10: isHTTP10,
                fields: HeaderFields(connection.map { [("Connection", $0)] } ?? []))
            let document = DiagnosticsEndpoints.document(head, ClientAddress(trusted: []))
            let text = String(decoding: document, as: UTF8.self)
            return (text.contains(#""http":"1.0""#) ? "1.0" : "1.1", text.contains(#""keepsConnection":true"#))
        }
        #expect(arrival(isHTTP10: false, nil) == ("1.1", true))
        #expect(arrival(isHTTP10: false, "Close") == ("1.1", false))
        #expect(arrival(isHTTP10: false, "te, close") == ("1.1", false))
        #expect(arrival(isHTTP10: true, nil) == ("1.0", false))
        #expect(arrival(isHTTP10: true, "Keep-Alive") == ("1.0", true))
    }
}
