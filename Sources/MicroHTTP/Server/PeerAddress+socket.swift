import Glibc
import Networks

extension PeerAddress {
    /// Converts the system's address; unknown for families other than IP.
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
