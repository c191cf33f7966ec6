import MVITesting
import SessionJournal
import Testing

@testable import MVIServer

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("The inspector's link")
struct InspectorLinkTests {
    /// Runs a server that has written its link into a file.
    private func withLink(
        _ test: (_ port: AdminPort, _ code: () throws -> String?) async throws -> Void
    ) async throws {
        // Without a data folder the file's name is random.
        try await AdminPort.run(
            .memory, { ($0.inspector, $0.adminToken, $0.data) = (.shapes, nil, ":memory:") }
        ) { port in
            let link = try #require(port.server.assembly.settings.inspectorLink)
            let now = port.server.assembly.sessions.environment.time.monotonic()
            let file = try #require(try link.write(page: "http://[::1]/admin/inspector", now: now))
            defer { unlink(file) }
            try await test(port) {
                guard let bytes = try PrivateFile.read(file) else { return nil }
                let text = String(decoding: bytes, as: UTF8.self)
                #expect(text.hasPrefix("http://[::1]/admin/inspector#code=") && text.hasSuffix("\n"))
                return String(text.dropLast().split(separator: "=")[1])
            }
        }
    }

    @Test func `a link's code is exchanged for the token once, and no other code is`() async throws {
        struct Opened: Decodable { var token: String }
        try await withLink { port, code in
            let right = try #require(try code())
            func open(_ code: String?) async throws -> TestResponse {
                try await port.send("POST", "/admin/inspector/token", token: code)
            }
            for wrong in [nil, "", right + "x", String(right.dropLast()), AdminPort.token] {
                #expect(try await open(wrong).problem == "admin-unauthorized")
            }
            let own = try #require(port.server.assembly.settings.inspectorToken)
            // The code is not the token, nor the token a code.
            #expect(try await port.send("GET", "/admin/sessions", token: right).status == 401)
            #expect(try await open(own).status == 401)
            let opened = try await open(right)
            #expect(try opened.json(Opened.self).token == own && opened["cache-control"] == "no-store")
            #expect(try code() == nil)
            let again = try await open(right)
            #expect(again.problem == "admin-unauthorized" && again.text.contains("/admin/inspector/link"))
        }
    }

    @Test func `a link's code is valid for ten minutes, and a new link ends it`() async throws {
        try await withLink { port, code in
            let first = try #require(try code())
            let local = [("Host", "localhost")]
            let made = try await port.send("POST", "/admin/inspector/link", local, token: nil)
            #expect(made.status == 200 && made.text.contains("/mvi-inspector-") && !made.text.contains(first))
            let second = try #require(try code())
            #expect(second != first && !made.text.contains(second))
            #expect(try await port.send("POST", "/admin/inspector/token", token: first).status == 401)
            port.server.time.advance(by: .seconds(600))
            #expect(try await port.send("POST", "/admin/inspector/token", token: second).status == 401)
            _ = try await port.send("POST", "/admin/inspector/link", local, token: nil)
            port.server.time.advance(by: .seconds(599))
            #expect(try await port.send("POST", "/admin/inspector/token", token: try code()).status == 200)
            // A web page makes none.
            for field in [("Origin", "http://localhost"), ("Sec-Fetch-Site", "same-origin")] {
                let refused = try await port.send("POST", "/admin/inspector/link", local + [field], token: nil)
                #expect(refused.problem == "cross-site")
            }
            let foreign = try await port.send("POST", "/admin/inspector/link", [("Host", "a.example")], token: nil)
            #expect(foreign.problem == "admin-closed")
        }
        // With an admin token, or at a terminal, there is no file.
        for token in [AdminToken(AdminPort.token), nil] {
            try await AdminPort.run(.memory, { ($0.inspector, $0.adminToken) = (.shapes, token) }) { port in
                for path in ["token", "link"] {
                    let sent = try await port.send("POST", "/admin/inspector/\(path)", [("Host", "localhost")])
                    #expect(sent.status == (token == nil && path == "token" ? 401 : 404))
                }
            }
        }
    }
}
