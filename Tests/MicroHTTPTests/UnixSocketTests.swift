import Glibc
import Locking
import Logging
import Networks
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct UnixSocketTests {
        private static let request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

        /// Runs a test with the path of a socket in a folder of its own.
        private func withPath(_ body: (String) async throws -> Void) async throws {
            var template = Array("/tmp/mvi-socket-XXXXXX".utf8CString)
            let made = template.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
            }
            let name = try #require(made)
            defer {
                unlink("\(name)/s")
                rmdir(name)
            }
            try await body("\(name)/s")
        }

        private func mode(_ path: String) -> mode_t? {
            var status = stat()
            return lstat(path, &status) == 0 ? status.st_mode : nil
        }

        private func failure(_ path: String) -> HTTPServerError? {
            #expect(throws: HTTPServerError.self) {
                let listening = try UnixSocket(path: path, mode: 0o600).open()
                close(listening.descriptor)
            }
        }

        @Test func `Clients of a Unix socket and of the port are served, and the stop removes its file`() async throws {
            try await withPath { path in
                let peers = Lock<Set<String>>([])
                let handler = TestHandler { request, exchange in
                    _ = peers.withLock { $0.insert("\(request.head.peer)") }
                    exchange.respond(Response(status: 200, body: .bytes(TestHandler.describe(request))))
                }
                for permissions in [UInt32(0o660), 0o600, 0o666] {
                    try await withServer(
                        handler, configure: { $0.unixSocket = UnixSocket(path: path, mode: permissions) }
                    ) { server in
                        #expect(mode(path) == S_IFSOCK | mode_t(permissions))
                        let clients = [try RawClient(unixSocket: path), try RawClient(port: server.port)]
                        for client in clients {
                            for _ in 0..<2 {
                                try client.send(Self.request)
                                #expect(try client.response().body.hasPrefix("GET\n/a\n"))
                            }
                            client.close()
                        }
                    }
                    #expect(mode(path) == nil)
                }
                #expect(peers.withLock { $0 } == ["unix", "127.0.0.1"])
            }
        }

        @Test func `The library has nothing to log of a Unix socket`() async throws {
            try await withPath { path in
                let lines = Lock<[String]>([])
                let logger = Logger(label: "test") { _ in LineRecorder(lines: lines) }
                var configuration = HTTPServerConfiguration()
                configuration.unixSocket = UnixSocket(path: path, mode: 0o600)
                let server = HTTPServer(configuration: configuration, logger: logger, handler: TestHandler.echo)
                try server.start()
                let client = try RawClient(unixSocket: path)
                try client.send(Self.request)
                #expect(try client.response().status == 200)
                client.close()
                await server.shutdown(grace: .zero)
                #expect(lines.withLock { $0 } == [])
            }
        }

        @Test func `A stream on a Unix socket is sent`() async throws {
            try await withPath { path in
                let source = TestSource()
                let handler = TestHandler { _, exchange in
                    exchange.respond(Response(status: 200, body: .stream(source)))
                }
                try await withServer(
                    handler, configure: { $0.unixSocket = UnixSocket(path: path, mode: 0o600) }
                ) { server in
                    let client = try RawClient(unixSocket: path)
                    try client.send(Self.request)
                    try client.read(through: "\r\n\r\n")
                    source.add([.writeAll(Array("one".utf8))])
                    try client.read(through: "one")
                    try await eventually("the stream left the library") { server.statistics.openConnections == 0 }
                    client.close()
                }
            }
        }

        @Test func `Only a socket on which no process answers is replaced`() async throws {
            try await withPath { path in
                let socket = UnixSocket(path: path, mode: 0o600)
                let first = try socket.open()
                #expect(failure(path)?.code == .addressInUse)
                _ = try RawClient(unixSocket: path)
                // As after a crash: the file stays.
                close(first.descriptor)
                let second = try socket.open()
                rename(path, path + ".moved")
                let third = try socket.open()
                // The end of one does not remove another one's file.
                second.removeFile()
                #expect(mode(path) != nil)
                third.removeFile()
                #expect(mode(path) == nil)
                unlink(path + ".moved")
                for listening in [second, third] { close(listening.descriptor) }
            }
        }

        @Test func `Any other file stays, and the message says what to do`() async throws {
            try await withPath { path in
                let file = try #require(fopen(path, "w"))
                fclose(file)
                #expect(failure(path)?.message.contains("the file there is no socket. Remove it") == true)
                unlink(path)
                symlink("/tmp/nowhere", path)
                #expect(failure(path)?.message.contains("no socket") == true)
                #expect(mode(path).map { $0 & S_IFMT } == S_IFLNK)
                #expect(failure(path + String(repeating: "x", count: 108))?.code == .invalidConfiguration)
                #expect(failure("/tmp/mvi-no-such-folder/s")?.message.contains("folder") == true)
            }
        }

        @Test func `At the limit of connections each socket goes on when one closes`() async throws {
            try await withPath { path in
                try await withServer(
                    TestHandler.echo,
                    configure: { configuration in
                        configuration.unixSocket = UnixSocket(path: path, mode: 0o600)
                        configuration.connectionLimit = 2
                    }
                ) { server in
                    let held = [try RawClient(port: server.port), try RawClient(unixSocket: path)]
                    try await eventually("both are open") { server.statistics.openConnections == 2 }
                    let waiting = [try RawClient(port: server.port), try RawClient(unixSocket: path)]
                    for client in waiting { try client.send(Self.request) }
                    for client in held { client.close() }
                    for client in waiting {
                        #expect(try client.response().status == 200)
                        client.close()
                    }
                }
            }
        }
    }
}

private struct LineRecorder: LogHandler {
    let lines: Lock<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.notice

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
}
