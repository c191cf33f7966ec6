import Glibc
import TestSupport
import Testing

/// The socket of systemd: a datagram socket, at a path or with an abstract name.
final class NotifyReceiver: Sendable {
    enum Kind: CaseIterable { case path, name }

    /// The value of `NOTIFY_SOCKET`.
    let address: String
    private let descriptor: Int32
    private let path: String?

    init(_ kind: Kind) throws {
        let unique = "mvi-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        var bytes: [UInt8]
        switch kind {
        case .path:
            path = "/tmp/\(unique)"
            address = "/tmp/\(unique)"
            bytes = Array(address.utf8) + [0]
        case .name:
            path = nil
            address = "@\(unique)"
            bytes = [0] + Array(unique.utf8)
        }
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        try #require(descriptor >= 0)
        var socketAddress = sockaddr_un()
        socketAddress.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count)
        let bound = withUnsafePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        try #require(bound == 0)
        // A missing message fails the test instead of blocking it.
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
        if let path { unlink(path) }
    }

    /// The lines of the next message.
    func next() async throws -> [String] {
        try await offThePool { [descriptor] in try #require(Self.receive(descriptor, 0)) }
    }

    /// The lines of all messages that have arrived.
    func pending() -> [[String]] {
        var messages: [[String]] = []
        while let message = Self.receive(descriptor, Int32(MSG_DONTWAIT)) { messages.append(message) }
        return messages
    }

    private static func receive(_ descriptor: Int32, _ flags: Int32) -> [String]? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, flags)
        guard count >= 0 else { return nil }
        return String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
