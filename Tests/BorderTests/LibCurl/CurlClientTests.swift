import LibCurl
import Locking
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite(.timeLimit(.minutes(5))) struct CurlClientTests {
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Sends a request, with a new client by default.
    private func result(
        _ request: CurlRequest, longest: Int = 1_000, by given: CurlClient? = nil
    ) async -> Result<CurlAnswer, CurlFailure> {
        let client = given ?? CurlClient()
        defer { if given == nil { client.close() } }
        do throws(CurlFailure) { return .success(try await client.send(request, longest: longest)) } catch {
            return .failure(error)
        }
    }

    private func failure(
        _ request: CurlRequest, longest: Int = 1_000, by client: CurlClient? = nil
    ) async -> CurlFailure? {
        if case .failure(let failure) = await result(request, longest: longest, by: client) { failure } else { nil }
    }

    /// The failure that ends a stream.
    private func end(
        of request: CurlRequest, by client: CurlClient, _ receive: @escaping @Sendable (CurlPart) -> Bool
    ) async -> CurlFailure? {
        do throws(CurlFailure) { try await client.stream(request, receive) } catch { return error }
        return nil
    }

    @Test func `the request line, the fields and the body arrive as they are given`() async throws {
        let server = try RawServer(.whole(ok))
        defer { server.stop() }
        let fields = [("X-One", "1"), ("X-Empty", ""), ("x-two", "a, b"), ("Content-Type", "application/json")]
        let request = CurlRequest("PATCH", server.url("/a/../b%2F?q=%20#f"), fields: fields, body: Array("{}\n".utf8))
        #expect(try await result(request).get().body == Array("ok".utf8))
        let lines = try #require(server.requests.first).split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "PATCH /a/../b%2F?q=%20 HTTP/1.1")
        let expected = ["X-One: 1", "X-Empty:", "x-two: a, b", "Content-Type: application/json", "Content-Length: 3"]
        #expect(Set(lines.dropFirst().dropLast(2).map(String.init)) == Set(expected + ["Host: \(server.address)"]))
        #expect(lines.last == "{}\n")
    }

    @Test func `a refusal by the head arrives before the body if the request expects 100 Continue`() async throws {
        let server = try RawServer(.whole("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"))
        defer { server.stop() }
        var request = CurlRequest("POST", server.url(), body: [UInt8](repeating: 0x20, count: 2 << 20))
        request.expectsContinue = true
        #expect(try await result(request).get().head.status == 413)
        #expect(try #require(server.requests.first).hasSuffix("\r\n\r\n"))
    }

    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
    func `each method is sent without a body where there is none`(method: String) async throws {
        let server = try RawServer(.whole(method == "HEAD" ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : ok))
        defer { server.stop() }
        #expect(try await result(CurlRequest(method, server.url())).get().head.status == 200)
        let text = try #require(server.requests.first)
        #expect(text.hasPrefix("\(method) /keys HTTP/1.1\r\n") && text.hasSuffix("\r\n\r\n"))
        #expect(!text.contains("chunked"))
    }

    @Test func `the last head counts, and what comes after the body does not`() async throws {
        let server = try RawServer(
            .whole(
                "HTTP/1.1 100 Continue\r\nX: 0\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 201 Made\r\nX:  1 \r\nX: 2\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: 3\r\n\r\n"))
        defer { server.stop() }
        let answer = try await result(CurlRequest("GET", server.url())).get()
        #expect(answer.head.status == 201 && answer.head.version == "1.1" && answer.body == Array("ok".utf8))
        #expect(answer.head.fields.filter { $0.name == "X" }.map(\.value) == ["1", "2"])
    }

    @Test(arguments: ["http_proxy", "all_proxy", "ALL_PROXY"])
    func `the environment's proxy is not used`(variable: String) async throws {
        await #expect(processExitsWith: .success) { [variable] in
            setenv(variable, "http://127.0.0.1:1", 1)
            setenv("no_proxy", "", 1)
            let server = try RawServer(.whole("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
            let answer = try await CurlClient().send(CurlRequest("GET", server.url()), longest: 10)
            exit(answer.head.status == 200 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func `a redirect is not followed`(status: Int) async throws {
        let server = try RawServer(.whole("HTTP/1.1 \(status) X\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"))
        defer { server.stop() }
        #expect(try await result(CurlRequest("POST", server.url(), body: [1])).get().head.status == status)
        #expect(server.targets == ["/keys"])
    }

    @Test(arguments: ["file:///etc/hostname", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "", "http://", "http://a b/"])
    func `other schemes and invalid URLs are refused`(url: String) async throws {
        let failure = await failure(CurlRequest("GET", url))
        #expect(failure?.reason == .notWritten && failure?.mayHaveArrived == false, "\(failure?.description ?? "")")
    }

    @Test(arguments: [("X", "a\r\nY: b"), ("X", "a\0b"), ("X\nY", "b"), ("", "b")])
    func `a field with a character that HTTP does not allow is not sent`(name: String, value: String) async throws {
        let server = try RawServer(.whole(ok))
        defer { server.stop() }
        let failure = await failure(CurlRequest("GET", server.url(), fields: [(name, value)]))
        #expect(failure?.reason == .notWritten && server.requests.isEmpty)
    }

    @Test func `a body is as long as the receiver takes, with a length or without`() async throws {
        let piece = String(repeating: "x", count: 1_000)
        let server = try RawServer { target in
            switch target {
            case "/exactly": .whole("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\(piece)")
            case "/length": .endless("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", piece: piece)
            case "/chunks":
                .endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", piece: "3e8\r\n\(piece)\r\n")
            default: .endless("HTTP/1.0 200 OK\r\n\r\n", piece: piece)
            }
        }
        defer { server.stop() }
        #expect(try await result(CurlRequest("GET", server.url("/exactly"))).get().body.count == 1_000)
        for path in ["/length", "/chunks", "/end"] {
            #expect(await failure(CurlRequest("GET", server.url(path)))?.reason == .tooLong, "\(path)")
        }
    }

    @Test(arguments: ["X: \(String(repeating: "y", count: 1_000))\r\n", "HTTP/1.1 103 Early\r\n\r\n"])
    func `a head without end is not read`(piece: String) async throws {
        let server = try RawServer(.endless("HTTP/1.1 200 OK\r\n", piece: piece))
        defer { server.stop() }
        #expect(await failure(CurlRequest("GET", server.url())) != nil)
    }

    @Test func `an answer in gzip is decoded where that is asked for, and bounded in its decoded bytes`() async throws {
        let hex = try await Tool.bash.output(["-c", "head -c 100000 /dev/zero | gzip -9n | od -An -v -tx1"]).text
        let zipped = hex.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
        #expect(zipped.count < 1_000)
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(zipped.count)\r\n\r\n"
        let server = try RawServer(.bytes(Array(head.utf8) + zipped))
        defer { server.stop() }
        var request = CurlRequest("GET", server.url())
        #expect(try await result(request, longest: 1_000).get().body == zipped)
        request.decodes = true
        #expect(try await result(request, longest: 100_000).get().body.count == 100_000)
        #expect(await failure(request, longest: 99_999)?.reason == .tooLong)
        #expect(server.requests.map { $0.contains("Accept-Encoding: gzip, deflate") } == [false, true, true])
    }

    @Test func `nothing is sent where nobody listens, and where the name is not known`() async throws {
        let server = try RawServer(.whole(ok))
        server.stop()
        await server.untilStopped()
        let refused = await failure(CurlRequest("POST", server.url(), body: [1]))
        #expect(refused?.reason == .noConnection && refused?.mayHaveArrived == false)
        let unknown = await failure(CurlRequest("GET", "http://host.invalid/", time: .seconds(60)))
        #expect(unknown?.reason == .unknownHost && unknown?.mayHaveArrived == false)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "SSH-2.0-x\r\n"])
    func `an answer that ends too early, or is none, is broken`(text: String) async throws {
        let server = try RawServer(.whole(text))
        defer { server.stop() }
        let failure = await failure(CurlRequest("POST", server.url(), body: [1]))
        #expect(failure?.reason == .broken && failure?.mayHaveArrived == true)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"])
    func `a request ends when its time is over`(text: String) async throws {
        let server = try RawServer { $0 == "/held" ? .held(text) : .content([1]) }
        defer { server.stop() }
        let late = await failure(CurlRequest("GET", server.url("/held"), time: .milliseconds(100)))
        #expect(late?.reason == .tookTooLong && late?.mayHaveArrived == true)
        // The connection was closed, or the server would still be busy with it.
        #expect(try await result(CurlRequest("GET", server.url("/next"))).get().body == [1])
    }

    @Test func `a stream's parts arrive as they are sent, until its task is canceled`() async throws {
        let server = try RawServer { $0 == "/held" ? .held("HTTP/1.1 200 OK\r\n\r\nabc") : .content([1]) }
        defer { server.stop() }
        let client = CurlClient()
        defer { client.close() }
        let (parts, sender) = AsyncStream.makeStream(of: String.self)
        let reader = Task {
            await end(of: CurlRequest("GET", server.url("/held")), by: client) { part in
                switch part {
                case .head(let head): sender.yield("\(head.status)")
                case .bytes(let bytes): sender.yield(String(decoding: bytes, as: UTF8.self))
                }
                return true
            }
        }
        var seen = ""
        for await part in parts {
            seen += part
            if seen == "200abc" { break }
        }
        reader.cancel()
        #expect(await reader.value?.reason == .cancelled)
        #expect(try await result(CurlRequest("GET", server.url("/next")), by: client).get().body == [1])
    }

    @Test func `a task that was canceled before sends nothing`() async throws {
        let server = try RawServer(.whole(ok))
        defer { server.stop() }
        let request = CurlRequest("GET", server.url())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure(request)
        }
        #expect(await task.value?.reason == .cancelled)
        #expect(server.requests.isEmpty)
    }

    @Test func `closing ends requests under way, and refuses later ones`() async throws {
        let server = try RawServer(.held("HTTP/1.1 200 OK\r\n\r\n"))
        defer { server.stop() }
        let client = CurlClient()
        let ended = await end(of: CurlRequest("GET", server.url()), by: client) { _ in
            client.close()
            return true
        }
        #expect(ended?.reason == .cancelled && ended?.mayHaveArrived == true)
        let later = await failure(CurlRequest("GET", server.url()), by: client)
        #expect(later?.reason == .cancelled && later?.mayHaveArrived == false)
    }

    @Test(arguments: [false, true])
    func `a connection is kept, unless the request is alone`(isAlone: Bool) async throws {
        let server = try RawServer { _ in .kept("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        defer { server.stop() }
        let client = CurlClient()
        defer { client.close() }
        var request = CurlRequest("GET", server.url())
        request.isAlone = isAlone
        for _ in 0..<3 { _ = try await result(request, by: client).get() }
        #expect(server.connections == (isAlone ? 3 : 1))
    }

    @Test(arguments: ["GET", "POST", "DELETE"])
    func `a request that meets the end of a kept connection is not sent again`(method: String) async throws {
        let count = Lock(0)
        let server = try RawServer { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? .kept("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") : .whole("")
        }
        defer { server.stop() }
        let client = CurlClient()
        defer { client.close() }
        let request = CurlRequest(method, server.url())
        _ = try await result(request, by: client).get()
        let failure = await failure(request, by: client)
        #expect(failure?.reason == .broken && failure?.mayHaveArrived == true)
        #expect(server.requests.count == 2)
    }

    @Test func `a write to a connection that was reset is no signal`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let server = try RawServer(.reset)
            let client = CurlClient()
            let body = [UInt8](repeating: 1, count: 4 << 20)
            for _ in 0..<20 {
                _ = try? await client.send(CurlRequest("POST", server.url(), body: body), longest: 1)
            }
            exit(EXIT_SUCCESS)
        }
    }

    @Test func `a thousand requests at once are answered, over as many connections as may be open`() async throws {
        let server = try RawServer { _ in .kept("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
        defer { server.stop() }
        // The server accepts one connection after the other.
        let client = CurlClient(connections: 1)
        defer { client.close() }
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1_000 {
                group.addTask { try await result(CurlRequest("GET", server.url()), by: client).get().body.count }
            }
            return try await group.reduce(0, +)
        }
        #expect(count == 1_000 && server.connections == 1)
    }
}
