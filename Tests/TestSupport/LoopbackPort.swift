import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A port of 127.0.0.1 that the system chose, and that it gives to no other program during the lifetime of this object.
///
/// A port that a test lets go and takes again may belong to another program by then, and its client speaks to a stranger.
public final class LoopbackPort: Sendable {
    public let number: UInt16
    private let descriptor: Int32

    /// - Parameter isTaken: whether something listens on it; otherwise connections are refused until a server of the test
    ///   listens, with `SO_REUSEADDR` as usual.
    public init(isTaken: Bool = false) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A program that another test starts would keep the port.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var (reuse, length) = (Int32(1), socklen_t(MemoryLayout<sockaddr_in>.size))
        let (descriptor, size) = (descriptor, length)
        try #require(
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size)) == 0)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && (!isTaken || listen(descriptor, 1) == 0)
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(result)
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
