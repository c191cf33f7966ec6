import Glibc
import Networks

extension PeerAddress {
    /// Converts the system's address; unknown for families other than IP and Unix sockets.
    init(_ address: UnsafePointer<sockaddr>?) {
        guard let address else {
            self = .unknown
            return
        }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self.init(
                v4: address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
                })
        case AF_INET6: self.init(address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee.sin6_addr })
        case AF_UNIX: self = .unix
        default: self = .unknown
        }
    }

    /// The address of a socket's own end.
    init(localOf descriptor: Int32) {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        self = withSocketAddress(&address) { getsockname(descriptor, $0, &size) == 0 ? PeerAddress($0) : .unknown }
    }
}

/// Calls `body` with an address of one family as the system's functions take it.
func withSocketAddress<Address, Result>(
    _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
) -> Result {
    withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
}

extension sockaddr_un {
    /// The number of bytes of the longest path or name.
    static let room = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

    /// An address of a Unix socket and its length. The bytes are a path with the NUL that ends it, or a NUL and a name;
    /// at most `room`.
    static func with(_ bytes: [UInt8]) -> (address: sockaddr_un, length: socklen_t) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // The path is the last member, after the family.
        return (address, socklen_t(MemoryLayout<sockaddr_un>.size - room + bytes.count))
    }
}
