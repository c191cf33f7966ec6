#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

import Locking
import MVITesting

/// A node that answers in a way that no server does: one connection after the other.
final class RawPeer: Sendable {
    struct Failure: Error {}

    /// What it does when a request's head is there.
    enum Answer: Sendable {
        /// These bytes, then the end of the connection.
        case whole(String)
        /// These bytes, then nothing until the client goes.
        case held(String)
    }

    private let listener: Int32
    let port: UInt16
    private let seen = Lock<[String]>([])
    private let stopped = Gate()

    init(_ answer: Answer) throws {
        let socketType = Int32(SOCK_STREAM.rawValue)
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
        guard isBound, let thread = SystemThread({ [self] in serve(answer) }) else { throw Failure() }
        thread.detach()
    }

    var address: String { "127.0.0.1:\(port)" }

    /// The heads of all requests.
    var heads: [String] { seen.withLock { $0 } }

    /// Takes no more connections; the thread ends. Nobody listens on the port from then on.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Returns when nobody listens on the port any more.
    func untilStopped() async { await stopped.waitDespiteCancellation() }

    private func serve(_ answer: Answer) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            reply(connection, answer)
            close(connection)
        }
        close(listener)
        stopped.open()
    }

    private func reply(_ connection: Int32, _ answer: Answer) {
        guard let head = request(connection) else { return }
        seen.withLock { $0.append(head) }
        switch answer {
        case .whole(let text): write(text, connection)
        case .held(let text):
            write(text, connection)
            while receive(connection) != nil {}
        }
    }

    /// A request, read to its end: a connection that is closed with bytes unread is reset, and takes the answer with it.
    private func request(_ connection: Int32) -> String? {
        var head = ""
        while true {
            let parts = head.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let length = parts[0].lowercased().split(separator: "\r\n").lazy.compactMap { line in
                line.hasPrefix("content-length:") ? Int(line.dropFirst(15).trimmingPrefix(" ")) : nil
            }.first
            if parts.count == 2, parts[1].utf8.count >= length ?? 0 { return head }
            guard let part = receive(connection) else { return nil }
            head += part
        }
    }

    private func receive(_ connection: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(connection, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    private func write(_ text: String, _ connection: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
