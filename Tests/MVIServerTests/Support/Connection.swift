#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

import EventStream
import Locking

/// A client's connection, blocking, with a deadline on each step that fails the test.
///
/// `@unchecked Sendable`, proof: made and used by one test, one call after the other, though on different threads;
/// the calls are ordered by the awaits between them.
final class Connection: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let descriptor: Int32
    private var pending: [UInt8] = []
    private var parser = EventParser()
    private var events: [ParsedEvent] = []
    private var isChunked = false

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(description: "cannot connect: errno \(errno)") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                #if canImport(Glibc)
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                #else
                    Musl.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                #endif
            }
            guard count > 0 else { throw Failure(description: "cannot send: errno \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ request: TestRequest, close: Bool = false) throws {
        var head = "\(request.method) \(request.target) HTTP/1.1\r\n"
        if !request.fields.contains(where: { $0.name.lowercased() == "host" }) { head += "Host: localhost\r\n" }
        for field in request.fields { head += "\(field.name): \(field.value)\r\n" }
        if !request.body.isEmpty { head += "Content-Length: \(request.body.count)\r\n" }
        if close { head += "Connection: close\r\n" }
        try send(Array((head + "\r\n").utf8) + request.body)
    }

    /// Reads the response's head, and leaves the body.
    func head() throws -> TestResponse {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let start = position(of: end) {
                let lines = String(decoding: pending[..<start], as: UTF8.self).split(separator: "\r\n")
                pending.removeFirst(start + end.count)
                let fields = lines.dropFirst().map { line -> (name: String, value: String) in
                    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                    return (String(parts[0]), String(parts[parts.count - 1].drop { $0 == " " }))
                }
                let status = lines.first.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) }
                let response = TestResponse(status: status ?? 0, fields: fields, body: [])
                isChunked = response["transfer-encoding"] == "chunked"
                return response
            }
            guard try receive() else {
                throw Failure(
                    description: "the connection ended in the head: \(String(decoding: pending, as: UTF8.self))")
            }
        }
    }

    /// Reads the whole response; of a stream up to its first state or its end.
    func response(to method: String) throws -> TestResponse {
        var response = try head()
        if method == "HEAD" || response.status == 204 || response.status == 304 { return response }
        if let length = response["content-length"].flatMap({ Int($0) }) {
            while pending.count < length, try receive() {}
            guard pending.count >= length else { throw Failure(description: "the body is cut short") }
            response.body = Array(pending.prefix(length))
            pending.removeFirst(length)
        } else if isChunked {
            while let chunk = try chunk() {
                response.body += chunk
                if String(decoding: response.body, as: UTF8.self).contains("event: state") { break }
            }
        }
        return response
    }

    /// The next event of a stream; nil after a clean end.
    func event() throws -> ParsedEvent? {
        while events.isEmpty {
            guard let chunk = try chunk() else { return nil }
            events += try parser.feed(chunk)
        }
        return events.removeFirst()
    }

    /// The next event with a name.
    func event(_ name: String) throws -> ParsedEvent {
        while let event = try event() {
            if event.name == name { return event }
        }
        throw Failure(description: "the stream ended without \(name)")
    }

    /// Reads the decoded bytes up to the end of `wanted`.
    func text(through wanted: String) throws -> String {
        while true {
            if let start = position(of: Array(wanted.utf8)) {
                return String(decoding: pending[..<(start + wanted.utf8.count)], as: UTF8.self)
            }
            guard try receive() else { throw Failure(description: "the connection ended before \(wanted)") }
        }
    }

    /// Returns true if the server has closed its side; waits until it closes or sends.
    func isAtEnd() throws -> Bool { try !receive() }

    private func chunk() throws -> [UInt8]? {
        let lineEnd = Array("\r\n".utf8)
        while true {
            if let end = position(of: lineEnd),
                let size = Int(String(decoding: pending[..<end], as: UTF8.self), radix: 16),
                pending.count >= end + size + 4
            {
                let chunk = Array(pending[(end + 2)..<(end + 2 + size)])
                pending.removeFirst(end + size + 4)
                return size == 0 ? nil : chunk
            }
            guard try receive() else { throw Failure(description: "the stream was cut") }
        }
    }

    private func position(of wanted: [UInt8]) -> Int? {
        guard pending.count >= wanted.count else { return nil }
        return (0...(pending.count - wanted.count)).first {
            pending[$0..<($0 + wanted.count)].elementsEqual(wanted)
        }
    }

    private func receive() throws -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        #if canImport(Glibc)
            let ready = Glibc.poll(&poll, 1, 120_000)
        #else
            let ready = Musl.poll(&poll, 1, 120_000)
        #endif
        guard ready == 1 else {
            throw Failure(description: "nothing came in 120 s after: \(String(decoding: pending, as: UTF8.self))")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        pending += buffer[..<count]
        return true
    }
}
