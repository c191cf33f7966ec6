import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A port of this machine that is in use during the lifetime of this object.
final class TakenPort: Sendable {
    let number: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, size) = (descriptor, length)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(result)
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
