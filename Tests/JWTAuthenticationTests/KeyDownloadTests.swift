import TestSupport
import Testing

@testable import JWTAuthentication

@Suite("Keys from an address", .timeLimit(.minutes(10)))
struct KeyDownloadTests {
    private func outcome(_ address: String, timeout: Duration = .seconds(50)) async -> Result<[UInt8], KeyReadError> {
        do throws(KeyReadError) {
            return .success(try await KeyDownload(timeout: timeout)(address))
        } catch {
            return .failure(error)
        }
    }

    private func failure(_ address: String, timeout: Duration = .seconds(50)) async -> String? {
        if case .failure(let error) = await outcome(address, timeout: timeout) { error.description } else { nil }
    }

    @Test("the content of a good answer is the key set, sent with a length, in chunks or up to the connection's end")
    func content() async throws {
        let server = try RawServer { target in
            switch target {
            case "/length": .content(Array("hello".utf8))
            case "/chunks":
                .whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
            default: .whole("HTTP/1.0 200 OK\r\n\r\nhello")
            }
        }
        defer { server.stop() }
        for path in ["/length", "/chunks", "/end", "/length?of=it"] {
            #expect(try await outcome(server.url(path)).get() == Array("hello".utf8), "\(path)")
        }
        #expect(server.targets == ["/length", "/chunks", "/end", "/length?of=it"])
    }

    @Test("a redirect is a failure, and its target is not asked", arguments: [301, 302, 303, 307, 308])
    func redirect(_ status: Int) async throws {
        let server = try RawServer { target in
            target == "/keys"
                ? .whole("HTTP/1.1 \(status) Elsewhere\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
                : .content(keySet())
        }
        defer { server.stop() }
        #expect(
            await failure(server.url()) == "the server answered \(status); redirects are not followed")
        #expect(server.targets == ["/keys"])
    }

    @Test("an answer without the keys is a failure", arguments: [204, 206, 304, 404, 500, 503])
    func status(_ status: Int) async throws {
        let server = try RawServer { _ in .whole("HTTP/1.1 \(status) Other\r\nContent-Length: 0\r\n\r\n") }
        defer { server.stop() }
        #expect(await failure(server.url())?.hasPrefix("the server answered \(status)") == true)
    }

    @Test("more than 256 KiB are rejected, with a length or without")
    func huge() async throws {
        let piece = String(repeating: " ", count: 1_024)
        let limit = KeySetDocument.longest
        let server = try RawServer { target in
            switch target {
            case "/exactly":
                .whole("HTTP/1.1 200 OK\r\nContent-Length: \(limit)\r\n\r\n" + String(repeating: " ", count: limit))
            case "/length": .endless("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", piece: piece)
            case "/chunks":
                .endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", piece: "400\r\n\(piece)\r\n")
            default: .endless("HTTP/1.0 200 OK\r\n\r\n", piece: piece)
            }
        }
        defer { server.stop() }
        #expect(try await outcome(server.url("/exactly")).get().count == limit)
        for path in ["/length", "/chunks", "/end"] {
            #expect(await failure(server.url(path)) == "the server sent more than 262144 bytes", "\(path)")
        }
        // Each connection was closed; otherwise the server would still be busy with it.
        #expect(try await outcome(server.url("/exactly")).get().count == limit)
    }

    @Test(
        "the download from a server that is slow at any point times out",
        arguments: [
            "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys\":",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
        ])
    func slow(_ begin: String) async throws {
        let server = try RawServer { target in target == "/keys" ? .held(begin) : .content([1]) }
        defer { server.stop() }
        let time: Duration = .milliseconds(100)
        #expect(await failure(server.url(), timeout: time) == "the download took longer than \(time)")
        // The connection is closed: the server accepts the next one.
        #expect(try await outcome(server.url("/next")).get() == [1])
    }

    @Test("no server, a server that hangs up, and one with another protocol are failures")
    func noServer() async throws {
        let server = try RawServer { target in .whole(target == "/nothing" ? "" : "SSH-2.0-OpenSSH_9.2\r\n") }
        #expect(await failure(server.url("/nothing"))?.hasPrefix("the download failed") == true)
        #expect(await failure(server.url("/other"))?.hasPrefix("the download failed") == true)
        server.stop()
        #expect(await failure("http://127.0.0.1:1/keys")?.hasPrefix("the download failed") == true)
    }

    @Test("downloaded keys verify a token")
    func endToEnd() async throws {
        let issuer = TestIssuer(key: try .ed25519())
        let keys = keySet(issuer.key.jwk("key-1"))
        let server = try RawServer { _ in .content(keys) }
        defer { server.stop() }
        let world = TestWorld()
        var environment = world.environment
        environment.fetch = JWTEnvironment.system.fetch
        let settings = JWTSettings(
            issuer: TestIssuer.name, audiences: [TestIssuer.audience], keys: .url(server.url()))
        let authenticator = try await JWTAuthenticator(
            settings, logger: world.log.logger, environment: environment)
        #expect(try await authenticator.verdict(issuer.token()).isAccepted)
        #expect(server.targets == ["/keys"])
    }
}
