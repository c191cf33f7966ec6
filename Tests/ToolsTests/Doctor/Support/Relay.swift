#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

import Locking

/// A proxy in this process with one fault.
struct Relay: Sendable {
    /// The treatment of a stream's bytes on their path to the client.
    enum Streams: Sendable {
        case pass
        /// All bytes arrive after the stream has ended.
        case hold
        /// The head claims compression, and only the head arrives.
        case compress
        /// The connection is closed after these bytes.
        case cut(after: String)
    }

    struct Failure: Error {}

    var streams = Streams.pass
    /// Changes a request's bytes.
    var request: @Sendable (String) -> String = { $0 }
    /// Changes an answer's bytes, except those of streams.
    var answer: @Sendable (String) -> String = { $0 }

    /// Runs a test with a relay to the server's port; the test gets the relay's port.
    func run<Result: Sendable>(
        to port: UInt16, _ test: @Sendable (_ port: UInt16) async throws -> Result
    ) async throws -> Result {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = Self.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = Self.with(&address) {
            bind(listener, $0, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &size) == 0
        }
        guard isListening, let thread = SystemThread({ accepting(listener, port) }) else { throw Failure() }
        thread.detach()
        defer { shutdown(listener, Int32(SHUT_RDWR)) }
        return try await test(UInt16(bigEndian: address.sin_port))
    }

    private func accepting(_ listener: Int32, _ port: UInt16) {
        while true {
            let client = accept(listener, nil, nil)
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            guard client >= 0 else { break }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = Self.address(port)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let ends = Ends(client, server)
            guard Self.with(&address, { connect(server, $0, size) == 0 }) else { continue }
            SystemThread { pass(requestsOf: ends) }?.detach()
            SystemThread { pass(answersOf: ends) }?.detach()
        }
        close(listener)
    }

    private func pass(requestsOf ends: Ends) {
        while let part = ends.receive(ends.client), ends.send(request(part), to: ends.server) {}
        ends.shut()
    }

    private func pass(answersOf ends: Ends) {
        var answers = Answers(streams: streams, change: answer)
        while let part = ends.receive(ends.server) {
            let (bytes, isCut) = answers.take(part)
            guard ends.send(bytes, to: ends.client), !isCut else { return ends.shut() }
        }
        _ = ends.send(answers.held, to: ends.client)
        ends.shut()
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func with(_ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Bool) -> Bool {
        withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }

    /// A client's connection and the one to the server, closed when both directions are done.
    private final class Ends: Sendable {
        let (client, server): (Int32, Int32)

        init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }

        deinit {
            close(client)
            close(server)
        }

        /// Ends both directions; the other thread detects it.
        func shut() {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }

        func receive(_ socket: Int32) -> String? {
            var part = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &part, part.count, 0)
            return count > 0 ? String(decoding: part.prefix(count), as: UTF8.self) : nil
        }

        func send(_ text: String, to socket: Int32) -> Bool {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
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
