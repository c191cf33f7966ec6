#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

import Locking

/// A small HTTP server of this machine, which answers whatever a test wants, one connection after the other.
final class KeyServer: Sendable {
    enum Reply: Sendable {
        /// These bytes, then the end of the connection.
        case whole(String)
        /// These bytes, then the same piece until the client has enough.
        case endless(String, piece: String)
        /// These bytes, then nothing until the client goes.
        case held(String)

        /// A good answer.
        static func content(_ bytes: [UInt8]) -> Reply {
            .whole("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n" + String(decoding: bytes, as: UTF8.self))
        }
    }

    struct Failure: Error {}

    private let listener: Int32
    private let port: UInt16
    private let seen = Lock<[String]>([])

    /// A server that answers each request by its target.
    init(_ reply: @escaping @Sendable (_ target: String) -> Reply) throws {
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
        guard isBound else { throw Failure() }
        let thread = SystemThread { [self] in serve(reply) }
        guard let thread else { throw Failure() }
        thread.detach()
    }

    /// The address of a path.
    func address(_ path: String = "/keys") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The targets of all requests.
    var targets: [String] { seen.withLock { $0 } }

    /// Takes no more connections; the thread ends.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ reply: @Sendable (String) -> Reply) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            answer(connection, reply)
            close(connection)
        }
        close(listener)
    }

    private func answer(_ connection: Int32, _ reply: @Sendable (String) -> Reply) {
        var head: [UInt8] = []
        while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
            guard let part = receive(connection) else { return }
            head += part
        }
        let target =
            String(decoding: head, as: UTF8.self).split(separator: " ").dropFirst().first.map(String.init) ?? ""
        seen.withLock { $0.append(target) }
        switch reply(target) {
        case .whole(let text):
            _ = transmit(connection, text)
            shutdown(connection, Int32(SHUT_WR))
            while receive(connection) != nil {}
        case .endless(let begin, let piece):
            guard transmit(connection, begin) else { return }
            while transmit(connection, piece) {}
        case .held(let begin):
            guard transmit(connection, begin) else { return }
            while receive(connection) != nil {}
        }
    }

    private func receive(_ connection: Int32) -> [UInt8]? {
        var part = [UInt8](repeating: 0, count: 4_096)
        let count = recv(connection, &part, part.count, 0)
        return count > 0 ? Array(part.prefix(count)) : nil
    }

    private func transmit(_ connection: Int32, _ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
