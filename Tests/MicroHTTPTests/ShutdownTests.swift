import Glibc
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct ShutdownTests {
        @Test func `Requests in progress end within the grace, and new ones are not accepted`() async throws {
            let source = TestSource([.write(Array("one".utf8))])
            let waiting = Lock<[Exchange]>([])
            let handler = TestHandler { request, exchange in
                if request.head.method == "POST" { return waiting.withLock { $0.append(exchange) } }
                exchange.respond(Response(status: 200, body: .stream(source)))
            }
            try await withServer(handler) { server in
                let stream = try RawClient(port: server.port)
                try stream.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                try stream.read(through: "one\r\n")
                let post = try RawClient(port: server.port)
                try post.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                try await eventually("the exchange is suspended") { server.statistics.waitingExchanges == 1 }
                async let stopped: Void = server.shutdown(grace: .seconds(60))
                try await eventually("nothing is accepted") { (try? RawClient(port: server.port)) == nil }
                source.add([.finish(Array("end".utf8))])
                #expect(try stream.readToEnd() == "3\r\nend\r\n0\r\n\r\n")
                waiting.withLock { $0.removeFirst() }.respond(.text("answered"))
                let response = try post.response()
                #expect(response.body == "answered")
                #expect(response["connection"] == "close")
                await stopped
                #expect(source.ends == [.finished])
            }
        }

        @Test func `Requests left after the grace are answered 503 or cut`() async throws {
            let source = TestSource([.write(Array("one".utf8))])
            let waiting = Lock<[Exchange]>([])
            let handler = TestHandler { request, exchange in
                if request.head.method == "POST" { return waiting.withLock { $0.append(exchange) } }
                exchange.respond(Response(status: 200, body: .stream(source)))
            }
            try await withServer(handler) { server in
                let stream = try RawClient(port: server.port)
                try stream.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                try stream.read(through: "one\r\n")
                let posts = try (1...10).map { _ in try RawClient(port: server.port) }
                for post in posts { try post.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n") }
                try await eventually("they are suspended") { server.statistics.waitingExchanges == 10 }
                await server.shutdown(grace: .milliseconds(50))
                #expect(source.ends == [.shutdown])
                #expect(try stream.readToEnd() == "")
                for post in posts {
                    let response = try post.response()
                    #expect(response.status == 503)
                    #expect(response.body == "shuttingDown")
                    #expect(try post.readToEnd() == "")
                }
                while let exchange = waiting.withLock({ $0.popLast() }) { exchange.respond(.text("too late")) }
            }
        }

        @Test func `Half a head and half a body do not keep a server from stopping`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.bodyTimeout = .seconds(3_600) }) { server in
                let silent = try RawClient(port: server.port)
                try silent.send("GET / HTTP/1.1\r\nHost: x\r\nX-Half")
                let client = try RawClient(port: server.port)
                try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
                try await eventually("both requests are there") { server.statistics.openRequests == 2 }
                async let stopped: Void = server.shutdown(grace: .seconds(60))
                #expect(try client.response().status == 408)
                _ = try silent.readToEnd()
                await stopped
            }
        }

        @Test func `Connections that a busy thread has not taken when it ends are closed`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.threads = 1 }) { server in
                let loop = try #require(server.loops.first)
                let mayEnd = Lock(false)
                #expect(loop { while !mayEnd.withLock({ $0 }) { sched_yield() } })
                let clients = try (1...8).map { _ in try RawClient(port: server.port) }
                try await eventually("all are accepted") { server.statistics.openConnections == 8 }
                async let stopped: Void = server.shutdown(grace: .zero)
                try await eventually("the thread is told to end") { !loop({}) }
                mayEnd.withLock { $0 = true }
                await stopped
                for client in clients { #expect(try client.readToEnd() == "") }
            }
        }

        @Test func `Several shutdowns at once all return when it is done`() async throws {
            try await withServer(TestHandler.echo) { server in
                await withTaskGroup { group in
                    for _ in 1...5 { group.addTask { await server.shutdown(grace: .seconds(5)) } }
                }
                #expect(throws: (any Error).self) { try RawClient(port: server.port) }
                await server.shutdown(grace: .seconds(5))
            }
        }

        @Test func `Idle connections do not keep a server from stopping`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().status == 200)
                await server.shutdown(grace: .seconds(60))
                #expect(try client.readToEnd() == "")
            }
        }
    }
}
