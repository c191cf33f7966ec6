import Glibc
import Testing

/// A client that keeps no rule of the control socket's protocol.
final class RawControlClient: Sendable {
    private let descriptor: Int32

    /// - Parameter path: at most 107 bytes.
    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// All that comes until the server closes.
    func readToEnd() -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &part, part.count, 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += part.prefix(count)
        }
    }
}
