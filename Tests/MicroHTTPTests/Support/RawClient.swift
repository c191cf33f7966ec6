import Glibc

@testable import MicroHTTP

/// A client that sends exact bytes, and waits for bytes with a deadline that fails the test.
final class RawClient {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var descriptor: Int32
    /// Received bytes that no read has returned yet.
    private(set) var pending: [UInt8] = []

    /// - Parameter from: The last byte of its address in 127.0.0.0/24.
    init(port: UInt16, from host: UInt32 = 1, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        if host != 1 {
            var own = sockaddr_in()
            own.sin_family = sa_family_t(AF_INET)
            own.sin_addr.s_addr = UInt32(0x7F00_0000 + host).bigEndian
            _ = withUnsafePointer(to: &own) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(description: "connect: \(String(cString: strerror(errno)))") }
    }

    /// A client of a Unix socket.
    init(unixSocket path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var (address, length) = sockaddr_un.with(Array(path.utf8) + [0])
        guard withSocketAddress(&address, { connect(descriptor, $0, length) }) == 0 else {
            let reason = String(cString: strerror(errno))
            close()
            throw Failure(description: "connect: \(reason)")
        }
    }

    deinit { close() }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Closes with a reset, like a vanished process with unread data.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Ends only our side.
    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
            start += count
        }
    }

    /// Reads until the pending bytes meet `condition`, and returns them. Fails after ten seconds or at the end.
    func read(until condition: ([UInt8]) -> Int?) throws -> [UInt8] {
        while true {
            if let count = condition(pending) {
                defer { pending.removeFirst(count) }
                return Array(pending.prefix(count))
            }
            guard try receive() else {
                throw Failure(description: "the connection ended after: \(String(decoding: pending, as: UTF8.self))")
            }
        }
    }

    /// Reads until `text` arrives, and returns everything up to its end.
    @discardableResult
    func read(through text: String) throws -> String {
        let wanted = Array(text.utf8)
        let bytes = try read { bytes in
            guard bytes.count >= wanted.count else { return nil }
            return (0...(bytes.count - wanted.count)).first { bytes[$0..<($0 + wanted.count)].elementsEqual(wanted) }
                .map { $0 + wanted.count }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until the server closes, and returns everything.
    func readToEnd() throws -> String {
        while try receive() {}
        defer { pending = [] }
        return String(decoding: pending, as: UTF8.self)
    }

    /// Returns true if the server sends something or ends the connection within this time.
    func isOver(within milliseconds: Int32) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&poll, 1, milliseconds) == 1
    }

    /// Waits until something arrives. Returns false if the server has closed its side or reset the connection.
    private func receive() throws -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, 60_000) == 1 else {
            throw Failure(description: "nothing came in 60 s after: \(String(decoding: pending, as: UTF8.self))")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        pending += buffer[..<count]
        return true
    }

    /// Reads one response with a `Content-Length`, without a body for a `HEAD` request.
    func response(toHead: Bool = false) throws -> RawResponse {
        let head = try read(through: "\r\n\r\n")
        var response = RawResponse(head: head)
        if !toHead, let length = response["content-length"].flatMap({ Int($0) }) {
            response.body = String(decoding: try read { $0.count >= length ? length : nil }, as: UTF8.self)
        }
        return response
    }
}

/// A response as a raw client sees it.
struct RawResponse {
    var status: Int
    var fields: [(name: String, value: String)]
    var body = ""

    init(head: String) {
        let lines = head.split(separator: "\r\n")
        status = lines.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
        fields = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (line[..<colon].lowercased(), String(line[colon...].dropFirst(2)))
        }
    }

    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}
