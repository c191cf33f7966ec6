import Locking
import Logging
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct LibraryLogTests {
        private struct Recorder: LogHandler {
            let lines: Lock<[String]>
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace

            subscript(metadataKey key: String) -> Logger.MetadataValue? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                lines.withLock {
                    $0.append("\(event.message) \(event.metadata?["dropped-lines"].map { "\($0)" } ?? "")")
                }
            }
        }

        private let lines = Lock<[String]>([])
        private var logger: Logger { Logger(label: "test") { [lines] _ in Recorder(lines: lines) } }

        @Test func `Ten lines pass in ten seconds, and the next says how many did not`() {
            let log = LibraryLog(logger)
            for number in 1...25 { log.write("line \(number)\n", now: 1_000_000_000) }
            #expect(lines.withLock { $0 } == (1...10).map { "libmicrohttpd: line \($0) " })
            log.write("later\n", now: 11_000_000_000)
            #expect(lines.withLock { $0.suffix(2) } == ["libmicrohttpd logged more 15", "libmicrohttpd: later "])
        }

        @Test func `Messages caused by our own ways of ending a connection are omitted`() {
            let log = LibraryLog(logger)
            log.write("Closing connection (application error generating response).\n")
            #expect(lines.withLock { $0 } == [])
        }

        @Test func `A stream's hand-over leaves no line in the log`() async throws {
            let handler = TestHandler { _, exchange in
                exchange.respond(Response(status: 200, body: .stream(TestSource([.finish(Array("end".utf8))]))))
            }
            let server = HTTPServer(configuration: HTTPServerConfiguration(), logger: logger, handler: handler)
            try server.start()
            for version in ["1.0", "1.1"] {
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/\(version)\r\nHost: x\r\n\r\n")
                #expect(try client.readToEnd().hasPrefix("HTTP/1.1 200"))
            }
            await server.shutdown(grace: .seconds(5))
            #expect(lines.withLock { $0 } == [])
        }

        @Test(arguments: [1, 2])
        func `A start and a stop leave no line in the log`(threads: Int) async throws {
            var configuration = HTTPServerConfiguration()
            configuration.threads = threads
            let server = HTTPServer(configuration: configuration, logger: logger, handler: TestHandler.echo)
            try server.start()
            await server.shutdown(grace: .zero)
            #expect(lines.withLock { $0 } == [])
        }

        @Test func `What the library says reaches the log`() async throws {
            let server = HTTPServer(configuration: HTTPServerConfiguration(), logger: logger, handler: TestHandler.echo)
            try server.start()
            let client = try RawClient(port: server.port)
            try client.send("GET / HTTP/9.9\r\n\r\n")
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 505"))
            await server.shutdown(grace: .seconds(5))
            #expect(lines.withLock { $0 }.contains { $0.hasPrefix("libmicrohttpd: Error processing request") })
        }
    }
}
