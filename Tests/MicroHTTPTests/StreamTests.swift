import Glibc
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct StreamTests {
        private static let get = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"

        /// Answers every request with a stream of `source`.
        private func streaming(_ source: TestSource) -> TestHandler {
            TestHandler { _, exchange in exchange.respond(Response(status: 200, body: .stream(source))) }
        }

        @Test func `A stream sends what its source gives, chunk by chunk, and ends cleanly`() async throws {
            let source = TestSource([.write(Array("one".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                let head = RawResponse(head: try client.read(through: "\r\n\r\n"))
                #expect(head.status == 200)
                #expect(head["transfer-encoding"] == "chunked")
                #expect(head["connection"] == "close")
                #expect(head["content-length"] == nil)
                #expect(try client.read(through: "one\r\n") == "3\r\none\r\n")
                source.add([.write(Array("second".utf8))])
                #expect(try client.read(through: "second\r\n") == "6\r\nsecond\r\n")
                source.add([.finish(Array("end".utf8))])
                #expect(try client.readToEnd() == "3\r\nend\r\n0\r\n\r\n")
                try await eventually("the source is closed") { source.ends == [.finished] }
                #expect(source.openings == 1)
            }
        }

        @Test func `A source that gave all it has is not asked again before it wakes its stream`() async throws {
            let source = TestSource([.writeAll(Array("one".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                _ = try client.read(through: "one\r\n")
                for number in 1...50 {
                    source.add([.writeAll(Array("event \(number)".utf8))])
                    _ = try client.read(through: "event \(number)\r\n")
                }
                // Once for each; the socket's readiness may have added a question.
                #expect(source.timesAsked < 60)
                source.add([.write([]), .writeAll([UInt8](repeating: 0x78, count: 3_000_000))])
                source.add([.finish([])])
                let rest = try client.readToEnd()
                let taken = rest.utf8.count { $0 == 0x78 }
                #expect(taken == 3_000_000, "what the socket did not take at once follows")
                #expect(rest.utf8.suffix(7).elementsEqual("\r\n0\r\n\r\n".utf8))
                try await eventually("the source is closed") { source.ends == [.finished] }
            }
        }

        @Test func `Bytes of a source without a client that the kernel has not accepted are not sent`() async throws {
            let source = TestSource([.write([UInt8](repeating: 0x78, count: 30_000_000)), .finish([])])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                _ = try client.read(through: "\r\n\r\n")
                try await eventually("the first step is given") { source.stepsLeft == 1 }
                source.dropUnsent()
                let rest = try client.readToEnd()
                #expect(rest.utf8.count < 30_000_000)
                #expect(!rest.hasSuffix("0\r\n\r\n"))
                try await eventually("the source is closed") { source.ends == [.error] }
            }
        }

        @Test func `A stream to an HTTP 1.0 client goes unframed and ends with the connection`() async throws {
            let source = TestSource([.write(Array("one".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET /events HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                let head = RawResponse(head: try client.read(through: "\r\n\r\n"))
                #expect(head["transfer-encoding"] == nil)
                #expect(head["content-length"] == nil)
                #expect(try client.read(through: "one") == "one")
                source.add([.write([])])
                source.add([.write(Array("two".utf8))])
                #expect(try client.read(through: "two") == "two")
                source.add([.finish([])])
                #expect(try client.readToEnd() == "")
                try await eventually("the source is closed") { source.ends == [.finished] }
            }
        }

        @Test(arguments: [
            ("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", 200), ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 204),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 304),
        ])
        func `Where no body may follow, the source is closed unopened`(_ request: String, _ status: Int) async throws {
            let source = TestSource([.write(Array("one".utf8))])
            let handler = TestHandler { request, exchange in
                exchange.respond(
                    request.head.path == Array("/next".utf8)
                        ? .text("next") : Response(status: status, body: .stream(source)))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send(request)
                #expect(try client.response(toHead: true).status == status)
                #expect(source.ends == [.finished])
                #expect(source.openings == 0)
                try client.send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "next")
            }
        }

        @Test func `A stream may be the answer to a suspended request`() async throws {
            let source = TestSource([.finish(Array("late".utf8))])
            let waiting = Lock<[Exchange]>([])
            try await withServer(TestHandler { _, exchange in waiting.withLock { $0.append(exchange) } }) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try await eventually("the exchange is suspended") { server.statistics.waitingExchanges == 1 }
                waiting.withLock { $0.removeFirst() }.respond(Response(status: 200, body: .stream(source)))
                try client.read(through: "\r\n\r\n")
                #expect(try client.readToEnd() == "4\r\nlate\r\n0\r\n\r\n")
            }
        }

        @Test func `The library's descriptor is closed as soon as the stream is ours`() async throws {
            let source = TestSource()
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try client.read(through: "\r\n\r\n")
                try await eventually("the stream is ours alone") { server.statistics.openConnections == 0 }
                #expect(server.statistics.openStreams == 1)
                source.add([.finish([])])
                #expect(try client.readToEnd() == "0\r\n\r\n")
            }
        }

        @Test(arguments: [true, false])
        func `A client that leaves is noticed at once`(_ resets: Bool) async throws {
            let source = TestSource([.write(Array("one".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try client.read(through: "one\r\n")
                if resets { client.reset() } else { client.close() }
                try await eventually("the source is closed") { source.ends == [.peerClosed] }
                #expect(source.handle == nil)
            }
        }

        @Test func `A client that left before its stream was opened closes the source too`() async throws {
            let source = TestSource()
            let waiting = Lock<[Exchange]>([])
            try await withServer(TestHandler { _, exchange in waiting.withLock { $0.append(exchange) } }) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try await eventually("the exchange is suspended") { server.statistics.waitingExchanges == 1 }
                client.reset()
                waiting.withLock { $0.removeFirst() }.respond(Response(status: 200, body: .stream(source)))
                try await eventually("the source is closed") { source.ends == [.peerClosed] }
            }
        }

        @Test func `Input on a stream is dropped, and too much of it ends the stream`() async throws {
            let source = TestSource([.write(Array("one".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try client.read(through: "one\r\n")
                try client.send("GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
                source.add([.write(Array("two".utf8))])
                #expect(try client.read(through: "two\r\n") == "3\r\ntwo\r\n")
                let flood = [UInt8](repeating: 0, count: 16_384)
                while (try? client.send(flood)) != nil {}
                try await eventually("the source is closed") { source.ends == [.error] }
            }
        }

        @Test func `Bytes that a slow client has not accepted are kept, and no more are requested`() async throws {
            let step = [UInt8](repeating: UInt8(ascii: "x"), count: 300_000)
            let source = TestSource((1...20).map { _ in .write(step) } + [.finish(Array("end".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port, receiveBuffer: 4096)
                try client.send(Self.get)
                try client.read(through: "\r\n\r\n")
                // Nobody reads: the source keeps its steps, whatever wakes it.
                try await eventually("the stream is full") { source.stepsLeft < 21 }
                for _ in 1...100 { source.handle?.wake() }
                #expect(source.stepsLeft > 0)
                let received = try client.readToEnd()
                let chunk = "493e0\r\n" + String(decoding: step, as: UTF8.self) + "\r\n"
                #expect(received == String(repeating: chunk, count: 20) + "3\r\nend\r\n0\r\n\r\n")
                try await eventually("the source is closed") { source.ends == [.finished] }
            }
        }

        @Test func `A stream that takes nothing until the write deadline is cut, one beside it goes on`() async throws {
            let stuck = TestSource((1...20).map { _ in .write([UInt8](repeating: 0, count: 1_000_000)) })
            let fine = TestSource()
            let handler = TestHandler { request, exchange in
                let source = request.head.path == Array("/stuck".utf8) ? stuck : fine
                exchange.respond(Response(status: 200, body: .stream(source)))
            }
            try await withServer(handler, configure: { $0.streamWriteDeadline = .milliseconds(300) }) { server in
                let stuckClient = try RawClient(port: server.port, receiveBuffer: 4096)
                try stuckClient.send("GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n")
                let fineClient = try RawClient(port: server.port)
                try fineClient.send(Self.get)
                try fineClient.read(through: "\r\n\r\n")
                try await eventually("the stuck one is cut") { stuck.ends == [.writeDeadline] }
                fine.add([.finish(Array("fine".utf8))])
                #expect(try fineClient.readToEnd() == "4\r\nfine\r\n0\r\n\r\n")
            }
        }

        @Test func `A quiet stream beats, again and again, and one without a beat stays quiet`() async throws {
            let beating = TestSource(beat: Array("beat".utf8))
            try await withServer(streaming(beating), configure: { $0.heartbeat = .milliseconds(50) }) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try client.read(through: "\r\n\r\n")
                for _ in 1...3 { #expect(try client.read(through: "beat\r\n") == "4\r\nbeat\r\n") }
                beating.stopBeating()
                beating.add([.finish(Array("end".utf8))])
                #expect(try client.readToEnd().hasSuffix("3\r\nend\r\n0\r\n\r\n"))
            }
        }

        @Test func `Closing a handle ends the stream cleanly, once, from any thread`() async throws {
            let source = TestSource([.write(Array("one".utf8))])
            try await withServer(streaming(source)) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.get)
                try client.read(through: "one\r\n")
                let handle = try #require(source.handle)
                await withTaskGroup { group in
                    for _ in 1...8 {
                        group.addTask {
                            handle.close()
                            handle.wake()
                        }
                    }
                }
                #expect(try client.readToEnd() == "0\r\n\r\n")
                #expect(source.ends == [.finished])
                handle.wake()
                handle.close()
            }
        }

        @Test func `Wakes from many threads show everything once and in order`() async throws {
            let source = CountingSource(last: 20_000)
            let handler = TestHandler { _, exchange in
                exchange.respond(Response(status: 200, body: .stream(source)))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.0\r\n\r\n")
                let threads = (1...4).compactMap { _ in SystemThread { while source.advance() {} } }
                try client.read(through: "\r\n\r\n")
                let received = try client.readToEnd()
                threads.forEach { $0.join() }
                #expect(received == (1...20_000).map { "\($0)\n" }.joined())
                #expect(!source.wasEnteredTwice)
            }
        }
    }
}
