import NIOCore
import NIOPosix

/// A proxy in this process that does one thing wrong.
struct Relay: Sendable {
    /// What becomes of a stream's bytes on their way to the client.
    enum Streams: Sendable {
        case pass
        /// All come when the stream has ended.
        case hold
        /// As if compressed: the head says so, and nothing but the head comes.
        case compress
        /// The connection is closed when these bytes have come.
        case cut(after: String)
    }

    var streams = Streams.pass
    /// Changes a request's bytes, as they come from the client.
    var request: @Sendable (String) -> String = { $0 }
    /// Changes an answer's bytes, as they come from the server; not those of streams.
    var answer: @Sendable (String) -> String = { $0 }

    private typealias Way = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Runs a test with a relay to the server's port; the test gets the relay's own.
    func run<Result: Sendable>(
        to port: UInt16, _ test: @escaping @Sendable (_ port: Int) async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture { try Way(wrappingChannelSynchronously: channel) }
            }
        let ownPort = server.channel.localAddress?.port ?? 0
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await server.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { connections in
                        for try await client in clients {
                            connections.addTask { try? await self.pass(client, to: port) }
                        }
                    }
                }
                return nil
            }
            group.addTask { try await test(ownPort) }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    private func pass(_ client: Way, to port: UInt16) async throws {
        let server = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: Int(port)) { channel in
                channel.eventLoop.makeCompletedFuture { try Way(wrappingChannelSynchronously: channel) }
            }
        try await client.executeThenClose { fromClient, toClient in
            try await server.executeThenClose { fromServer, toServer in
                let answers = Answers(streams: streams, change: answer)
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        do {
                            for try await part in fromClient {
                                try await toServer.write(ByteBuffer(string: request(String(buffer: part))))
                            }
                        } catch {}
                    }
                    group.addTask {
                        var answers = answers
                        do {
                            for try await part in fromServer {
                                let (bytes, isCut) = answers.take(String(buffer: part))
                                if !bytes.isEmpty { try await toClient.write(ByteBuffer(string: bytes)) }
                                if isCut { return }
                            }
                            try await toClient.write(ByteBuffer(string: answers.held))
                        } catch {}
                    }
                    await group.next()
                    group.cancelAll()
                }
            }
        }
    }

    /// One connection's answers. A stream is the last of its connection.
    private struct Answers {
        let streams: Streams
        let change: @Sendable (String) -> String
        var held = ""
        var seen = ""
        var isStream = false

        mutating func take(_ text: String) -> (bytes: String, isCut: Bool) {
            let begins = !isStream && text.contains("Content-Type: text/event-stream")
            isStream = isStream || begins
            guard isStream else { return (change(text), false) }
            switch streams {
            case .pass: return (text, false)
            case .hold:
                held += text
                return ("", false)
            case .compress:
                guard begins, let end = text.firstRange(of: "\r\n\r\n") else { return ("", false) }
                return (text[..<end.lowerBound] + "\r\nContent-Encoding: gzip\r\n\r\n", false)
            case .cut(let mark):
                seen += text
                return (text, seen.contains(mark))
            }
        }
    }
}
