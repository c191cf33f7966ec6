#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

import Locking
import MVITesting

/// A local server with any answers, including malformed ones. It serves one connection at a time.
package final class RawServer: Sendable {
    package enum Reply: Sendable {
        /// These bytes, then the end of the connection.
        case whole(String)
        case bytes([UInt8])
        /// These bytes, then the next request on the same connection.
        case kept(String)
        /// These bytes, then the same piece until the client has enough.
        case endless(String, piece: String)
        /// These bytes, then nothing until the client goes.
        case held(String)
        /// The connection is reset.
        case reset

        /// Returns a valid answer.
        package static func content(_ bytes: [UInt8]) -> Reply {
            .whole("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n" + String(decoding: bytes, as: UTF8.self))
        }
    }

    package struct Failure: Error {}

    private let listener: Int32
    package let port: UInt16
    private let seen = Lock<[String]>([])
    private let taken = Lock(0)
    private let stopped = Gate()

    /// Creates a server that answers each request by its target.
    package init(_ reply: @escaping @Sendable (_ target: String) -> Reply) throws {
        let socketType = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        listener = socket(AF_INET, socketType, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, length) = (listener, size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound, let thread = SystemThread({ [self] in serve(reply) }) else { throw Failure() }
        thread.detach()
    }

    /// Creates a server with one answer to all requests.
    package convenience init(_ reply: Reply) throws { try self.init { _ in reply } }

    package var address: String { "127.0.0.1:\(port)" }

    package func url(_ path: String = "/keys") -> String { "http://\(address)\(path)" }

    /// All requests, with the received part of their bodies.
    package var requests: [String] { seen.withLock { $0 } }

    /// The targets of all requests.
    package var targets: [String] { requests.map(Self.target) }

    /// The number of accepted connections.
    package var connections: Int { taken.withLock { $0 } }

    /// Accepts no more connections; the thread ends and the port is free.
    package func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Returns when the port is closed.
    package func untilStopped() async { await stopped.waitDespiteCancellation() }

    private static func target(_ request: String) -> String {
        request.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    private func serve(_ reply: @Sendable (String) -> Reply) {
        while true {
            let connection = accept(listener, nil, nil)
            // A program that another test starts would keep it open.
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            guard connection >= 0 else { break }
            taken.withLock { $0 += 1 }
            while answer(connection, reply) {}
            close(connection)
        }
        close(listener)
        stopped.open()
    }

    /// Answers a request. Returns true if the connection continues.
    private func answer(_ connection: Int32, _ reply: @Sendable (String) -> Reply) -> Bool {
        guard let request = request(connection) else { return false }
        seen.withLock { $0.append(request) }
        switch reply(Self.target(request)) {
        case .whole(let text):
            _ = transmit(connection, text)
        case .bytes(let bytes):
            _ = transmit(connection, bytes)
        case .kept(let text): return transmit(connection, text)
        case .endless(let begin, let piece):
            guard transmit(connection, begin) else { return false }
            while transmit(connection, piece) {}
        case .held(let begin):
            guard transmit(connection, begin) else { return false }
            while receive(connection) != nil {}
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
        return false
    }

    /// Reads a whole request: closing a connection with unread bytes resets it and loses the answer. Of a request that
    /// expects `100 Continue` it reads the head only.
    private func request(_ connection: Int32) -> String? {
        var request = ""
        while true {
            let parts = request.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let length = parts[0].lowercased().split(separator: "\r\n").lazy.compactMap { line in
                line.hasPrefix("content-length:") ? Int(line.dropFirst(15).trimmingPrefix(" ")) : nil
            }.first
            let isHeadOnly = parts[0].lowercased().contains("expect: 100-continue")
            if parts.count == 2, isHeadOnly || parts[1].utf8.count >= length ?? 0 { return request }
            guard let part = receive(connection) else { return nil }
            request += String(decoding: part, as: UTF8.self)
        }
    }

    private func receive(_ connection: Int32) -> [UInt8]? {
        var part = [UInt8](repeating: 0, count: 4_096)
        let count = recv(connection, &part, part.count, 0)
        return count > 0 ? Array(part.prefix(count)) : nil
    }

    private func transmit(_ connection: Int32, _ text: String) -> Bool { transmit(connection, Array(text.utf8)) }

    private func transmit(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
